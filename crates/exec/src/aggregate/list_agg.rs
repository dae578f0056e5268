//! `listagg`. Buffer: as that of `collect_list`, of texts or of structs of texts and keys.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, StringViewBuilder, StructArray, make_comparator,
};
use arrow::compute::SortOptions;
use arrow::datatypes::DataType as ArrowType;
use datafusion_common::Result;

use super::accumulator::{Accumulator, column};
use super::collect::CollectList;
use catalyst::{DataType, ListOrder, StructField};
use rows::error::bail_out;
use rows::types::ToArrow as _;

pub(super) struct ListAgg {
    order: ListOrder,
    delimiter: String,
    /// The type of texts with keys.
    pairs: ArrowType,
    lists: CollectList,
}

impl ListAgg {
    pub(super) fn new(order: ListOrder, key: &DataType, delimiter: String) -> Result<Self> {
        let field = |name: &str, of: &DataType| StructField {
            name: name.to_owned(),
            data_type: of.clone(),
            nullable: true,
            field_id: None,
            exists_default: None,
        };
        let element = match order {
            ListOrder::Key { .. } => {
                DataType::Struct(vec![field("value", &DataType::String), field("key", key)])
            }
            ListOrder::None | ListOrder::Texts { .. } => DataType::String,
        };
        let pairs = element.to_arrow();
        Ok(Self {
            order,
            delimiter,
            pairs: pairs.map_err(|reason| bail_out(reason.to_string()))?,
            lists: CollectList::new(&element)?,
        })
    }

    /// Places of a list's elements in their order.
    fn sorted(&self, list: &ArrayRef) -> Result<Vec<usize>> {
        let mut places: Vec<usize> = (0..list.len()).collect();
        let (keys, options) = match self.order {
            ListOrder::None => return Ok(places),
            ListOrder::Texts { descending } => {
                let options = SortOptions::new(descending, true);
                (Arc::clone(list), options)
            }
            ListOrder::Key {
                descending,
                nulls_first,
            } => {
                let keys = list.as_struct_opt().and_then(|list| list.columns().get(1));
                let keys = keys.ok_or_else(|| bail_out("a list without keys"))?;
                let options = SortOptions::new(descending, nulls_first);
                (Arc::clone(keys), options)
            }
        };
        let compare = make_comparator(&keys, &keys, options)?;
        // Those that are equal stay as they came, as Java's sort leaves them.
        places.sort_by(|left, right| compare(*left, *right));
        Ok(places)
    }

    fn write(&self, list: &ArrayRef, text: &mut String) -> Result<()> {
        let texts = match list.as_struct_opt() {
            Some(list) => list.columns().first(),
            None => Some(list),
        };
        let texts = texts.and_then(|texts| texts.as_string_view_opt());
        let texts = texts.ok_or_else(|| bail_out("a list of another type"))?;
        for (number, place) in self.sorted(list)?.into_iter().enumerate() {
            if number > 0 {
                text.push_str(&self.delimiter);
            }
            text.push_str(texts.value(place));
        }
        Ok(())
    }
}

impl Accumulator for ListAgg {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let texts = column(args, 0)?;
        let ArrowType::Struct(fields) = &self.pairs else {
            return self.lists.update(args, groups, filter, total);
        };
        // Pairs are null where texts are, which then do not count.
        let columns = vec![Arc::clone(texts), Arc::clone(column(args, 1)?)];
        let pairs = StructArray::try_new(fields.clone(), columns, texts.logical_nulls())?;
        self.lists.update(&[Arc::new(pairs)], groups, filter, total)
    }

    fn merge(&mut self, buffers: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.lists.merge(buffers, groups, total)
    }

    fn buffers(&mut self) -> Result<Vec<ArrayRef>> {
        self.lists.buffers()
    }

    fn evaluate(&mut self) -> Result<ArrayRef> {
        let lists = self.lists.evaluate()?;
        let lists = lists.as_list_opt::<i32>();
        let lists = lists.ok_or_else(|| bail_out("a list of another type"))?;
        let mut texts = StringViewBuilder::with_capacity(lists.len());
        let mut text = String::new();
        for row in 0..lists.len() {
            let list = lists.value(row);
            if list.is_empty() {
                texts.append_null();
                continue;
            }
            text.clear();
            self.write(&list, &mut text)?;
            texts.try_append_value(&text)?;
        }
        Ok(Arc::new(texts.finish()))
    }

    fn size(&self) -> usize {
        self.lists.size()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringViewArray};

    use super::*;

    fn of(order: ListOrder) -> Vec<Option<String>> {
        let new = || ListAgg::new(order, &DataType::Long, ", ".to_owned()).unwrap();
        let texts = [Some("b"), Some("a"), None, Some("c"), Some("a"), None];
        let texts: ArrayRef = Arc::new(StringViewArray::from(texts.to_vec()));
        let keys = [Some(2), Some(2), Some(1), None, Some(1), Some(1)];
        let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        let mut accumulator = new();
        accumulator
            .update(&[texts, keys], &[0, 0, 0, 0, 0, 1], None, 3)
            .unwrap();
        let buffers = accumulator.buffers().unwrap();
        let mut merged = new();
        merged.merge(&buffers, &[0, 1, 1], 2).unwrap();
        let texts = merged.evaluate().unwrap();
        let texts = texts.as_string_view().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn texts_are_in_the_order_that_is_asked_for() {
        let texts = |descending| ListOrder::Texts { descending };
        let by = |descending, nulls_first| ListOrder::Key {
            descending,
            nulls_first,
        };
        for (order, expected) in [
            (ListOrder::None, "b, a, c, a"),
            (texts(false), "a, a, b, c"),
            (texts(true), "c, b, a, a"),
            (by(false, true), "c, a, b, a"),
            (by(true, false), "b, a, a, c"),
        ] {
            assert_eq!(of(order), [Some(expected.to_owned()), None], "{order:?}");
        }
    }
}
