//! Stages of Spark SQL: no graph makes the decoder panic or run for ever.
#![no_main]

use javaser::Limits;
use javaser::arena::Graph;
use catalyst::{IsNative, Listing, SchemaMerge, Settings, Stage};

firesteel_fuzz::target!(|data: &[u8]| {
    let Ok((graph, _)) = Graph::parse_first(data, &Limits::default()) else {
        return;
    };
    let pair = graph.root().and_then(|root| graph.tuple(root));
    let Some([Some(rdd), Some(target)]) = pair.as_deref().map(|pair| match pair {
        [rdd, target] => [rdd.node(), target.node()],
        _ => [None, None],
    }) else {
        return;
    };
    // Expressions as they are, and as those of the JVM.
    for is_native in [None, Some((|_| false) as IsNative)] {
        let settings = Settings {
            is_native,
            ..Settings::default()
        };
        if let Ok(stage) = Stage::read(&graph, rdd, target, settings) {
            let _ = stage.to_string();
            let _ = stage.bind(&graph, rdd);
        }
        let settings = Settings {
            is_native,
            ..Settings::default()
        };
        let _ = Stage::below_rest(&graph, (rdd, target), settings, |_| {}, |stage| {
            let _ = stage.to_string();
            None::<()>
        });
    }
    if let Ok(Some(merge)) = SchemaMerge::read(&graph, rdd, target) {
        let _ = merge.files(&graph, rdd);
    }
    if let Ok(Some(listing)) = Listing::read(&graph, rdd, target) {
        let _ = listing.paths(&graph, rdd);
    }
});
