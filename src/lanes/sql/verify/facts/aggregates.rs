//! Aggregates and windows.

use catalyst::{
    AggregateExpression, AggregateKind, AggregateMode, AggregateStrategy, DataType, Expr, ExprId,
    FrameUnit, RankLike, SortOrder, WindowExpression, WindowFunction,
};

use super::{Facts, has_equals, is_float};
use crate::lanes::sql::verify::rows::Determined;

impl Facts {
    pub(super) fn with_windows(
        self,
        expressions: &[WindowExpression],
        partition: &[Expr],
        order: &[SortOrder],
    ) -> Self {
        let mut facts = self.all_rows();
        facts.decided_by_spec(partition, order);
        let looks: Vec<_> = expressions
            .iter()
            .map(|of| (of.output.id, facts.look_of_window(of)))
            .collect();
        for (id, look) in looks {
            facts.loosen(id, look);
        }
        facts
    }

    /// Columns that functions of Python compute over windows: they see the order of peers.
    pub(super) fn windowed(
        self,
        columns: impl Iterator<Item = ExprId>,
        partition: &[Expr],
        order: &[SortOrder],
    ) -> Self {
        let mut facts = self.all_rows();
        facts.decided_by_spec(partition, order);
        for column in columns {
            facts.loosen(column, Determined::Free);
        }
        facts
    }

    pub(super) fn within_groups(
        self,
        partition: &[Expr],
        order: &[SortOrder],
        rank: RankLike,
    ) -> Self {
        let mut facts = self.all_rows();
        facts.decided_by_spec(partition, order);
        // Which of several peers are kept.
        if rank == RankLike::RowNumber {
            facts.rows = facts.rows.only_number();
        }
        facts
    }

    /// What is determined of a window: the order of peers is not, nor what depends on it.
    fn look_of_window(&self, window: &WindowExpression) -> Determined {
        match &window.function {
            WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => Determined::Exact,
            WindowFunction::RowNumber
            | WindowFunction::Python { .. }
            | WindowFunction::NTile { .. }
            | WindowFunction::Offset { .. }
            | WindowFunction::NthValue { .. } => Determined::Free,
            WindowFunction::Aggregate(aggregate) => {
                let peers_together =
                    window.frame.unit == FrameUnit::Range || window.frame.is_whole();
                match peers_together {
                    true => typed(self.look_of_aggregate(aggregate), &window.output.data_type),
                    false => Determined::Free,
                }
            }
        }
    }

    pub(super) fn aggregated(
        self,
        strategy: AggregateStrategy,
        grouping: &[Expr],
        aggregates: &[AggregateExpression],
        result: &[Expr],
    ) -> Self {
        let mut groups = self.all_rows();
        for expr in grouping {
            groups.decided_by(expr);
        }
        let mut loose = Vec::new();
        // Where the buffers of a function are among what comes out of partial ones.
        let mut at = grouping.len();
        for aggregate in aggregates {
            let function = &aggregate.function;
            let look = groups.look_of_aggregate(aggregate);
            match aggregate.mode {
                AggregateMode::Partial | AggregateMode::PartialMerge => {
                    for column in &function.input_buffer {
                        loose.push((column.id, typed(look, &column.data_type)));
                    }
                    // Those of bytes do not all say which column is their own.
                    if function.kind.is_typed()
                        && let Some(column) = result.get(at).and_then(Expr::to_attribute)
                    {
                        loose.push((column.id, look));
                    }
                    at += function.input_buffer.len().max(1);
                }
                AggregateMode::Final | AggregateMode::Complete => {
                    loose.push((aggregate.result_id, typed(look, &function.data_type)));
                }
            }
        }
        for (id, look) in loose {
            groups.loosen(id, look);
        }
        // Groups of sorted rows come in their order.
        if strategy == AggregateStrategy::Sort {
            let keys: Vec<_> = grouping
                .iter()
                .filter_map(Expr::to_attribute)
                .map(|key| key.id)
                .collect();
            let count = groups
                .sorted
                .iter()
                .take_while(|id| keys.contains(id))
                .count();
            groups.sorted.truncate(count);
        } else {
            groups.sorted.clear();
        }
        groups.ordered = grouping.is_empty();
        groups.projected(result)
    }

    /// What is determined of an aggregate whose buffers are floating-point numbers. What is computed exactly is exact
    /// whatever the type.
    fn look_of_aggregate(&self, aggregate: &AggregateExpression) -> Determined {
        let function = &aggregate.function;
        let args = function.args.iter().map(|arg| self.look(arg));
        let buffers = function.input_buffer.iter();
        let buffers = buffers.filter_map(|of| self.loose.get(&of.id).copied());
        let inputs = match aggregate.mode.merges() {
            true => buffers.max(),
            false => args.max(),
        };
        let inputs = inputs.unwrap_or(Determined::Exact);
        let filter = aggregate.filter.as_ref().map(|filter| self.look(filter));
        if filter.is_some_and(|look| look != Determined::Exact) {
            return Determined::Free;
        }
        match function.kind {
            kind if kind.depends_on_order() && !self.ordered => Determined::Free,
            // Values and how often they come are in no order in buffers.
            AggregateKind::Percentile { .. } | AggregateKind::Mode { .. }
                if aggregate.mode != AggregateMode::Complete =>
            {
                Determined::Free
            }
            // What is left of large numbers that are taken off each other.
            AggregateKind::Comoment { .. } if !self.ordered => Determined::Free,
            AggregateKind::CentralMoment { moment, .. } if moment.order() > 2 && !self.ordered => {
                Determined::Free
            }
            // Lists of sums are not looked into, and other rows may have the greatest.
            AggregateKind::CollectList
            | AggregateKind::CollectSet { .. }
            | AggregateKind::Percentile { .. }
            | AggregateKind::ApproxPercentile { .. }
            | AggregateKind::ApproxCountDistinct { .. }
            | AggregateKind::MaxBy
            | AggregateKind::MinBy
            | AggregateKind::ExtremesBy { .. }
            | AggregateKind::PivotFirst
            | AggregateKind::ListAgg { .. }
            | AggregateKind::HllSketch { .. }
            | AggregateKind::HllUnion { .. }
            | AggregateKind::CountMinSketch
            | AggregateKind::Histogram { .. }
            | AggregateKind::Mode { .. }
                if inputs != Determined::Exact =>
            {
                Determined::Free
            }
            // Which values are null is known of sums.
            AggregateKind::Count if inputs != Determined::Free => Determined::Exact,
            AggregateKind::First { .. }
            | AggregateKind::Last { .. }
            | AggregateKind::Count
            | AggregateKind::CollectList
            | AggregateKind::CollectSet { .. }
            | AggregateKind::Percentile { .. }
            | AggregateKind::ApproxPercentile { .. }
            | AggregateKind::ApproxCountDistinct { .. }
            | AggregateKind::MaxBy
            | AggregateKind::MinBy
            | AggregateKind::ExtremesBy { .. }
            | AggregateKind::PivotFirst
            | AggregateKind::ListAgg { .. }
            | AggregateKind::HllSketch { .. }
            | AggregateKind::HllUnion { .. }
            | AggregateKind::CountMinSketch
            | AggregateKind::Histogram { .. }
            | AggregateKind::Mode { .. }
            | AggregateKind::BloomFilter { .. } => inputs,
            // Of two zeros, or of several kinds of NaN, either may be the least.
            AggregateKind::Min | AggregateKind::Max if has_equals(&function.data_type) => {
                Determined::Free
            }
            AggregateKind::CentralMoment { .. } | AggregateKind::Comoment { .. } => {
                inputs.max(Determined::Moment)
            }
            _ => inputs.max(Determined::Near),
        }
    }
}

/// Of a number that is computed from loose ones, or from exact ones by adding them up.
fn typed(look: Determined, of: &DataType) -> Determined {
    match look {
        // Sums of other types are exact: they do not depend on the order.
        Determined::Near | Determined::Moment if !is_float(of) => Determined::Exact,
        look => look,
    }
}
