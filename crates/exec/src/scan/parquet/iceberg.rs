//! Files of tables of Iceberg's, which tasks know more of than their stage: under which ids files have the columns,
//! which of these are the same for all rows of a file, and which rows are deleted.

use std::sync::{Arc, Mutex, PoisonError};

use catalyst::{
    Attribute, DataType, Expr, ExprKind, FileSourceScan, Function, Literal, ParquetOptions,
    PartitionedFile, StructField, TableFile, Unsupported,
};
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;
use rows::error::bail_out;

use super::super::{Files, FormatScan, PartReader, Wanted};
use super::file::{FileReader, OfPart};
use super::{Ids, Made, ParquetScan, columns, positions};
use crate::expr::lower;
use crate::lower::Result;

/// A scan of such files.
#[derive(Debug)]
pub(in super::super) struct IcebergScan {
    scan: FileSourceScan,
    options: ParquetOptions,
    /// The places of the columns that are wanted, among those of the scan.
    places: Vec<usize>,
    output: Vec<Attribute>,
    filter: Option<Expr>,
    /// How files are read whose tasks say the same of their columns as that of the last one.
    last: Mutex<Option<Arc<Known>>>,
}

/// How files are read of which the same is known.
#[derive(Debug)]
struct Known {
    /// The columns of the scan, with their ids.
    columns: Arc<[StructField]>,
    /// The places of those that are constants.
    constants: Vec<usize>,
    parquet: ParquetScan,
}

impl IcebergScan {
    /// Judges the scan; `places` are those of its columns that are wanted.
    pub(in super::super) fn new(
        scan: &FileSourceScan,
        options: &ParquetOptions,
        places: Vec<usize>,
        wanted: &Wanted<'_>,
    ) -> Result<Self> {
        // What cannot be read of any file is refused now. Of the column of partitions there may be nothing to read.
        for field in &wanted.fields {
            if field.data_type != DataType::Struct(Vec::new()) {
                columns::check(&field.data_type)?;
            }
        }
        Ok(Self {
            scan: FileSourceScan {
                // What rows must meet is for leaving out row groups, too.
                data_filters: wanted.filter.map(conjuncts).unwrap_or_default(),
                in_jvm: None,
                ..scan.clone()
            },
            options: options.clone(),
            places,
            output: wanted.output.to_vec(),
            filter: wanted.filter.cloned(),
            last: Mutex::default(),
        })
    }

    /// How files are read in which the columns of the scan are these.
    fn parquet(&self, columns: &[StructField], constants: &[usize]) -> Result<ParquetScan> {
        let missing = || Unsupported::of_use("a scan of other columns");
        let of = |place: &usize| columns.get(*place).cloned().ok_or_else(missing);
        let fields = self.places.iter().map(of).collect::<Result<Vec<_>>>()?;
        // A constant is what the file is not asked for.
        let is_constant = |place: &usize| constants.iter().position(|constant| constant == place);
        let own = self.places.iter().enumerate();
        let own = own.filter_map(|(place, of)| Some((place, Made::Constant(is_constant(of)?))));
        let scan = FileSourceScan {
            file_schema: columns.to_vec(),
            ..self.scan.clone()
        };
        let in_files = |of: &Attribute| {
            let mut own = self.output.iter().zip(&self.places);
            let place = own.find(|(column, _)| column.id == of.id)?.1;
            columns.get(*place).filter(|_| !constants.contains(place))
        };
        let wanted = Wanted {
            fields,
            output: &self.output,
            filter: self.filter.as_ref(),
            in_files: &in_files,
        };
        ParquetScan::of_table(&scan, &self.options, wanted, own.collect())
    }

    /// How the files of this kind are read.
    fn known(&self, file: &TableFile) -> Result<Arc<Known>> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let constants: Vec<usize> = file.constants.iter().map(|(place, _)| *place).collect();
        if let Some(last) = &*lock()
            && last.columns == file.columns
            && last.constants == constants
        {
            return Ok(Arc::clone(last));
        }
        let parquet = self.parquet(&file.columns, &constants)?;
        let known = Arc::new(Known {
            columns: Arc::clone(&file.columns),
            constants,
            parquet,
        });
        *lock() = Some(Arc::clone(&known));
        Ok(known)
    }

    /// The values of constants, in their order.
    fn constants(file: &TableFile) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        let constants = file.constants.iter().map(|(place, value)| {
            let column = file.columns.get(*place);
            let column = column.ok_or_else(|| Unsupported::of_use("a scan of other columns"))?;
            let literal = Expr {
                kind: ExprKind::Literal(value.clone()),
                data_type: column.data_type.clone(),
                nullable: *value == Literal::Null,
            };
            lower(&literal, &[])
        });
        constants.collect()
    }
}

/// The conditions that are all to be true.
fn conjuncts(filter: &Expr) -> Vec<Expr> {
    match &filter.kind {
        ExprKind::Call {
            function: Function::And,
            args,
            ..
        } => args.iter().flat_map(conjuncts).collect(),
        _ => vec![filter.clone()],
    }
}

impl FormatScan for IcebergScan {
    fn open(
        &self,
        part: &PartitionedFile,
        files: &Files<'_>,
        batch_size: usize,
    ) -> DataFusionResult<Box<dyn PartReader>> {
        let refused = |why: Unsupported| bail_out(why.to_string());
        let table = part.table.as_deref();
        let table = table.ok_or_else(|| bail_out("a file of no table"))?;
        let part = PartitionedFile {
            path: files.url(&part.path)?,
            ..part.clone()
        };
        let known = self.known(table).map_err(refused)?;
        let of_part = OfPart {
            ids: Ids::default(),
            deleted: positions::deleted(table, files)?,
            constants: Self::constants(table).map_err(refused)?,
        };
        let bytes = files.bytes(&part)?;
        let reader = FileReader::open(&known.parquet, &part, bytes, batch_size, of_part)?;
        Ok(Box::new(reader))
    }
}
