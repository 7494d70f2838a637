//! Executes statements.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use archive::Cut;
use archive::question::{DumpRange, View};
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::memory::{MemoryCatalogProvider, MemoryCatalogProviderList};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, SchemaProvider, TableFunction, TableProvider,
};
use datafusion::common::Column;
use datafusion::common::DataFusionError;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SendableRecordBatchStream, SessionStateDefaults};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement as DfStatement;
use facts::Table;
use futures_util::StreamExt as _;
use parking_lot::{Mutex, RwLock};
use remote::Remote;
use tokio::time::Instant;

use crate::ccindex::{self, CCINDEX, CcIndexSchema};
use crate::error::{FactsAbsence, SqlError, thread_error};
use crate::fact_tables::{EpochRange, FactTables};
use crate::facts_folder::FactsFolder;
use crate::file_catalogue::{FileCatalogue, FileTableProvider};
use crate::file_tables::FileTable;
use crate::functions;
use crate::handle::Handle;
use crate::histogram::histogram;
use crate::live_tables::LiveTableProvider;
use crate::memory::{Sharing, runtime};
use crate::parameters;
use crate::parse::parse;
use crate::settings::{QuerySettings, Settings};
use crate::stopping::{Stop, YieldingJoins};
use crate::subqueries::rewrite_subqueries;
use crate::table_functions::{InlinksFunction, SearchFunction};
use crate::tables::{LiveTable, TABLES, TableInfo};
use crate::views::view_statement;

/// Catalog and schema of the tables; statements need not name them.
const CATALOG: &str = "weft";
const SCHEMA: &str = "public";

/// Columns that contain names of inputs.
const NAMES: [&str; 2] = ["warc_filename", "input"];

/// An archive that executes statements.
pub struct Database {
    handle: Arc<Handle>,
    base: SessionState,
    /// Memory for statements that join by sorting.
    sorting: Arc<RuntimeEnv>,
    facts: Mutex<Option<Arc<FactTables>>>,
    /// Location of the facts, if not the archive's own.
    facts_place: Option<String>,
    remote: Remote,
    files: Arc<FileCatalogue>,
}

/// What is known of a statement before it has values for its parameters.
#[derive(Debug, Clone)]
pub struct StatementShape {
    /// The columns of its rows. Their types may depend on the values.
    pub columns: SchemaRef,
    /// Its parameters, in order.
    pub parameters: Schema,
}

/// The rows of a statement.
pub struct Answer {
    /// The epoch of all tables in the statement.
    pub epoch: u64,
    stream: SendableRecordBatchStream,
    deadline: Option<(Instant, Duration)>,
    stop: Stop,
    /// Tables of facts that the rows may come from.
    facts: Option<Arc<FactTables>>,
    /// Kept alive while rows are produced.
    _context: SessionContext,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an answer of epoch {}", self.epoch)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.stop.request();
    }
}

impl Answer {
    /// Returns the columns.
    pub fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }

    /// Returns the next rows; `None` after the last.
    ///
    /// # Errors
    /// [`SqlError`], after which there are no further rows.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        let next = self.stream.next();
        let next = match self.deadline {
            None => next.await,
            Some((deadline, limit)) => match tokio::time::timeout_at(deadline, next).await {
                Ok(next) => next,
                Err(_) => return Some(Err(time_limit(limit))),
            },
        };
        match (next?, &self.facts) {
            (Err(error), Some(facts)) => Some(Err(facts.diagnose_damage(error.into()).await)),
            (batch, _) => Some(batch.map_err(SqlError::from)),
        }
    }
}

fn time_limit(limit: Duration) -> SqlError {
    SqlError::TimeLimit {
        seconds: limit.as_secs(),
    }
}

impl Drop for Database {
    /// Ensures that data read from a store reaches the cache's disks before the program ends.
    fn drop(&mut self) {
        self.remote.close();
    }
}

impl Database {
    /// Makes a database of the archive in `dir`. Nothing is opened before the first statement.
    ///
    /// # Errors
    /// [`SqlError`] if temporary files are impossible.
    pub fn new(dir: &Path, settings: &Settings) -> Result<Database, SqlError> {
        let joining = runtime(settings.memory_size_bytes, Sharing::Free)?;
        let config = session_config(settings.threads).with_create_default_catalog_and_schema(false);
        let mut functions = SessionStateDefaults::default_scalar_functions();
        functions.extend(functions::all());
        let mut aggregates = SessionStateDefaults::default_aggregate_functions();
        aggregates.push(histogram());
        let base = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_runtime_env(joining)
            .with_physical_optimizer_rule(Arc::new(YieldingJoins))
            .with_scalar_functions(functions)
            .with_aggregate_functions(aggregates)
            // Statements must not create tables from files.
            .with_table_factories(HashMap::new())
            .with_file_formats(Vec::new())
            .build();
        Ok(Database {
            handle: Handle::new(dir, settings),
            base,
            sorting: runtime(settings.memory_size_bytes, Sharing::Halves)?,
            facts: Mutex::default(),
            facts_place: settings.facts.clone(),
            remote: settings.remote(),
            files: FileCatalogue::of_archive(dir),
        })
    }

    /// Returns the directory of the archive.
    pub fn dir(&self) -> &Path {
        self.handle.dir()
    }

    /// Starts executing a statement.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn query(&self, statement: &str, settings: &QuerySettings) -> Result<Answer, SqlError> {
        self.query_until(statement, settings, Stop::new()).await
    }

    /// Starts executing a statement that `stop` can end at any time, even while its first rows are
    /// produced. Dropping the answer also requests the stop.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn query_until(
        &self,
        statement: &str,
        settings: &QuerySettings,
        stop: Stop,
    ) -> Result<Answer, SqlError> {
        let deadline = settings.time_max.map(|limit| (Instant::now() + limit, limit));
        let planned = async {
            let cut = self.cut().await?;
            let (context, epoch) = self.context(cut, settings).await?;
            let stream = run(&context, statement, settings, &stop).await?;
            Ok((context, epoch, stream))
        };
        let planned = match deadline {
            None => planned.await,
            Some((deadline, limit)) => tokio::time::timeout_at(deadline, planned)
                .await
                .unwrap_or_else(|_| Err(time_limit(limit))),
        };
        let facts = self.facts.lock().clone();
        let (context, epoch, stream) = match (planned, &facts) {
            (Err(error), Some(facts)) => return Err(facts.diagnose_damage(error).await),
            (planned, _) => planned?,
        };
        Ok(Answer {
            epoch,
            stream,
            deadline,
            stop,
            facts,
            _context: context,
        })
    }

    /// Returns the columns of a statement's rows without executing it.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn columns_of(&self, statement: &str, settings: &QuerySettings) -> Result<SchemaRef, SqlError> {
        let (context, _) = self.context(self.cut().await?, settings).await?;
        Ok(plan_statement(&context, statement, settings, &Stop::new())
            .await?
            .schema())
    }

    /// Returns the columns and the parameters of a statement without executing it.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn shape_of(
        &self,
        statement: &str,
        settings: &QuerySettings,
    ) -> Result<StatementShape, SqlError> {
        let (context, _) = self.context(self.cut().await?, settings).await?;
        let plan = plan_unbound(&context, statement).await?;
        let types = parameters::types_of(&plan)?;
        let columns = if types.is_empty() {
            plan_statement(&context, statement, settings, &Stop::new())
                .await?
                .schema()
        } else {
            // A plan to execute needs the values.
            plan.schema().inner().clone()
        };
        Ok(StatementShape {
            columns,
            parameters: parameters::schema_of(&types),
        })
    }

    /// Returns the tables that exist now, with their columns.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn tables(&self) -> Result<Vec<(TableInfo, SchemaRef)>, SqlError> {
        let (context, _) = self.context(self.cut().await?, &QuerySettings::default()).await?;
        let there = context
            .catalog(CATALOG)
            .and_then(|catalog| catalog.schema(SCHEMA));
        let mut tables = Vec::new();
        for info in TABLES {
            let is_there =
                |schema: &Arc<dyn SchemaProvider>| schema.table_names().iter().any(|name| name == info.name);
            if let Some(schema) = there.as_ref().filter(|schema| is_there(schema))
                && let Some(table) = schema.table(info.name).await?
            {
                tables.push((info, table.schema()));
            }
        }
        Ok(tables)
    }

    /// Holds the newest epoch.
    pub(crate) async fn cut(&self) -> Result<Arc<Cut>, SqlError> {
        let handle = self.handle.clone();
        // Opening an archive blocks while other processes use it.
        let cut = system::blocking(move || handle.cut());
        Ok(Arc::new(cut.await.map_err(thread_error)??))
    }

    /// Executes a statement on a cut.
    pub(crate) async fn query_cut(
        &self,
        cut: &Arc<Cut>,
        statement: &str,
        settings: &QuerySettings,
    ) -> Result<Answer, SqlError> {
        let (context, epoch) = self.context(cut.clone(), settings).await?;
        let stop = Stop::new();
        Ok(Answer {
            epoch,
            stream: run(&context, statement, settings, &stop).await?,
            deadline: None,
            stop,
            facts: self.facts.lock().clone(),
            _context: context,
        })
    }

    /// Returns the tables of facts. The inner error says why they cannot be read here.
    pub(crate) fn facts(
        &self,
        archive: &archive::Archive,
    ) -> Result<Result<Arc<FactTables>, FactsAbsence>, SqlError> {
        let mut facts = self.facts.lock();
        let Some(dir) = archive.facts_dir()? else {
            return Ok(Err(FactsAbsence::None));
        };
        let place = self.facts_place.clone();
        let place = place.unwrap_or_else(|| inputs::path_text(&dir));
        // Another archive may have been created at the same path.
        let kept = facts.take().filter(|kept| kept.address() == place);
        let kept = match kept {
            Some(kept) => kept,
            None => match FactsFolder::new(&place, &self.remote) {
                Ok(folder) => Arc::new(FactTables::new(folder)),
                Err(error) => return Ok(Err(FactsAbsence::Unreachable(error))),
            },
        };
        *facts = Some(Arc::clone(&kept));
        Ok(Ok(kept))
    }

    /// Returns a session with tables of one epoch, and that epoch.
    async fn context(
        &self,
        cut: Arc<Cut>,
        settings: &QuerySettings,
    ) -> Result<(SessionContext, u64), SqlError> {
        let epoch = epoch_of(&cut, settings)?;
        let tables = Arc::new(Tables {
            facts: self.facts(cut.archive())?,
            files: self.files.clone(),
            defined_views: RwLock::default(),
            state: RwLock::default(),
            is_newest: settings.at_epoch.is_none(),
            base_names: settings.base_names,
            epoch,
            cut,
        });
        let schemas = MemoryCatalogProvider::new();
        schemas.register_schema(SCHEMA, tables.clone())?;
        schemas.register_schema(CCINDEX, Arc::new(CcIndexSchema(tables.clone())))?;
        let catalogs = MemoryCatalogProviderList::new();
        catalogs.register_catalog(CATALOG.to_owned(), Arc::new(schemas));
        let mut builder = SessionStateBuilder::new_from_existing(self.base.clone())
            .with_config(self.config(settings))
            .with_catalog_list(Arc::new(catalogs));
        if settings.sorts_for_joins {
            builder = builder.with_runtime_env(self.sorting.clone());
        }
        let functions = builder.table_functions().get_or_insert_default();
        if tables.is_newest {
            let search = SearchFunction {
                cut: tables.cut.clone(),
            };
            let inlinks = InlinksFunction {
                cut: tables.cut.clone(),
            };
            functions.insert(
                "search".into(),
                Arc::new(TableFunction::new("search".into(), Arc::new(search))),
            );
            functions.insert(
                "inlinks".into(),
                Arc::new(TableFunction::new("inlinks".into(), Arc::new(inlinks))),
            );
        }
        let context = SessionContext::new_with_state(builder.build());
        *tables.state.write() = Some(context.state_weak_ref());
        if !tables.is_newest {
            for view in [View::Pages, View::Inlinks, View::Uris, View::Domains, View::Top] {
                let Some(statement) = view_statement(view) else {
                    continue;
                };
                let plan = context.state().create_logical_plan(statement).await?;
                let table = ViewTable::new(plan, None);
                tables.defined_views.write().insert(view.name(), Arc::new(table));
            }
        }
        Ok((context, epoch))
    }

    fn config(&self, settings: &QuerySettings) -> SessionConfig {
        let mut config = self.base.config().clone();
        let options = config.options_mut();
        options.optimizer.prefer_hash_join = !settings.sorts_for_joins;
        options.optimizer.join_reordering = !settings.joins_as_written;
        // String views share buffers. Each row kept in memory is charged for its whole buffer, as
        // if it had a copy, so that statements which fit would be rejected.
        options.execution.parquet.schema_force_view_types =
            !(settings.sorts_for_joins || settings.joins_as_written);
        if settings.sorts_for_joins {
            // Each sort reserves memory separately on each thread.
            options.execution.target_partitions = 1;
        }
        config
    }
}

/// Returns the epoch that a statement reads.
fn epoch_of(cut: &Cut, settings: &QuerySettings) -> Result<u64, SqlError> {
    match settings.at_epoch {
        Some(epoch) if epoch > cut.epoch() => Err(SqlError::Epoch {
            table: "captures",
            why: format!("epoch {epoch} does not exist yet; the newest is {}", cut.epoch()),
        }),
        Some(epoch) => Ok(epoch),
        None => Ok(cut.epoch()),
    }
}

/// Returns the settings of a session, with this many threads per statement.
pub(crate) fn session_config(threads: Option<usize>) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_information_schema(true);
    if let Some(threads) = threads {
        config = config.with_target_partitions(threads.max(1));
    }
    let options = config.options_mut();
    // Lets errors name a line and a column.
    options.sql_parser.collect_spans = true;
    options.execution.parquet.pushdown_filters = true;
    options.execution.parquet.reorder_filters = true;
    config
}

/// Executes a read-only statement.
async fn run(
    context: &SessionContext,
    statement: &str,
    settings: &QuerySettings,
    stop: &Stop,
) -> Result<SendableRecordBatchStream, SqlError> {
    let plan = plan_statement(context, statement, settings, stop).await?;
    Ok(execute_stream(plan, context.task_ctx())?)
}

/// Plans a read-only statement without values for its parameters.
async fn plan_unbound(context: &SessionContext, statement: &str) -> Result<LogicalPlan, SqlError> {
    let reads = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let state = context.state();
    let recursion_limit = state.config().options().sql_parser.recursion_limit.get();
    let parsed = parse(statement, recursion_limit)?;
    let writes = match &parsed {
        DfStatement::CopyTo(_) => Some("COPY"),
        DfStatement::CreateExternalTable(_) => Some("CREATE EXTERNAL TABLE"),
        _ => None,
    };
    if let Some(what) = writes {
        return Err(SqlError::ReadOnly {
            what: what.to_owned(),
        });
    }
    let plan = state.statement_to_plan(parsed).await.map_err(explain)?;
    reads.verify_plan(&plan)?;
    Ok(plan)
}

fn explain(error: DataFusionError) -> SqlError {
    list_tables_if_unknown(SqlError::from(error))
}

/// Plans a read-only statement.
async fn plan_statement(
    context: &SessionContext,
    statement: &str,
    settings: &QuerySettings,
    stop: &Stop,
) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    let state = context.state();
    let plan = plan_unbound(context, statement).await?;
    let plan = parameters::bind(plan, settings.parameters.as_ref())?;
    let plan = rewrite_subqueries(plan).map_err(explain)?;
    if settings.base_names && matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) {
        return Err(SqlError::Statement {
            message: "EXPLAIN shows the full paths of files, which only the archive's owner may see, on \
                      its own machine"
                .to_owned(),
            line: 0,
            column: 0,
        });
    }
    // Added after optimisation, so that no rule moves the conditions that stop the statement.
    let plan = stop.guard_joins(state.optimize(&plan).map_err(explain)?)?;
    let planned = state.query_planner().create_physical_plan(&plan, &state).await;
    planned.map_err(explain)
}

/// Lists the existing tables if a statement names an unknown one.
fn list_tables_if_unknown(error: SqlError) -> SqlError {
    let prefix = format!("table '{CATALOG}.{SCHEMA}.");
    match error {
        SqlError::Statement {
            message,
            line,
            column,
        } if message.contains(&prefix) => {
            let name = message
                .split(&prefix)
                .nth(1)
                .and_then(|rest| rest.split('\'').next());
            let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
            SqlError::Statement {
                message: format!(
                    "there is no table {}; the tables are {}",
                    name.unwrap_or_default(),
                    names.join(", ")
                ),
                line,
                column,
            }
        }
        other => other,
    }
}

/// The tables of one statement. They are opened when the statement names them.
struct Tables {
    cut: Arc<Cut>,
    epoch: u64,
    /// Whether the newest epoch was requested; then views are live.
    is_newest: bool,
    /// Whether names of inputs are shown without their folders.
    base_names: bool,
    /// The tables of facts, or the reason why they are missing.
    facts: Result<Arc<FactTables>, FactsAbsence>,
    files: Arc<FileCatalogue>,
    /// Views of an older epoch, computed from their definitions.
    defined_views: RwLock<HashMap<&'static str, Arc<dyn TableProvider>>>,
    /// The session that owns these tables.
    state: RwLock<Option<Weak<RwLock<SessionState>>>>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tables of epoch {}", self.epoch)
    }
}

impl Tables {
    /// Returns the session that owns these tables.
    fn session(&self) -> Result<SessionState, SqlError> {
        let state = self.state.read().as_ref().and_then(Weak::upgrade);
        match state {
            Some(state) => Ok(state.read().clone()),
            None => Err(SqlError::Execution("the session has ended".into())),
        }
    }

    /// Returns the captures in the columns of Common Crawl's table.
    async fn ccindex(&self) -> Result<Arc<dyn TableProvider>, DataFusionError> {
        let plan = self.session()?.create_logical_plan(ccindex::DEFINITION).await?;
        Ok(Arc::new(ViewTable::new(plan, None)))
    }

    async fn fact_table(&self, table: Table) -> Result<Arc<dyn TableProvider>, SqlError> {
        let facts = self.facts.as_ref().map_err(|why| {
            SqlError::NoFacts(format!(
                "{why}, so there is no table {}; load the same inputs into a new archive to get it",
                table.name()
            ))
        })?;
        let epochs = EpochRange {
            max: self.epoch,
            min: if self.is_newest {
                self.cut.facts_epoch(table)
            } else {
                0
            },
        };
        let state = self.session()?;
        if table == Table::Texts && facts.newest(table).await?.is_none() {
            return Err(SqlError::NoFacts(
                "this archive has no texts; to get them, create a new archive with weft load --facts-text"
                    .into(),
            ));
        }
        facts.provider(table, epochs, Arc::new(state)).await
    }

    fn file_table(&self, table: FileTable) -> Result<Arc<dyn TableProvider>, SqlError> {
        if !self.is_newest {
            return Err(SqlError::NoFacts(format!(
                "the catalogue of files has no older epochs, so table {} cannot be used with at_epoch",
                table.name()
            )));
        }
        if !self.files.is_there() {
            return Err(self.files.missing());
        }
        let catalogue = self.files.clone();
        Ok(Arc::new(FileTableProvider { table, catalogue }))
    }
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        TABLES
            .iter()
            .filter(|table| self.is_shown(table.name))
            .map(|table| table.name.to_owned())
            .collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        match self.whole_table(name).await? {
            // This one shows the names in `captures`, where they have lost their folders.
            Some(table) if self.base_names && name != CCINDEX => with_base_names(name, table).map(Some),
            table => Ok(table),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        TABLES.iter().any(|table| table.name == name)
    }
}

/// Wraps a table so that names of inputs lose their folders.
fn with_base_names(
    name: &str,
    table: Arc<dyn TableProvider>,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let schema = table.schema();
    let is_name = |column: &str| NAMES.contains(&column);
    if !schema.fields().iter().any(|field| is_name(field.name())) {
        return Ok(table);
    }
    let columns = schema.fields().iter().map(|field| {
        let column = Expr::Column(Column::new(Some(name), field.name()));
        if is_name(field.name()) {
            functions::base_name().call(vec![column]).alias(field.name())
        } else {
            column
        }
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?
        .project(columns)?
        .build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

impl Tables {
    /// Returns the table with complete names.
    async fn whole_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        if let Some(table) = Table::ALL.into_iter().find(|table| table.name() == name) {
            return Ok(Some(self.fact_table(table).await?));
        }
        if name == CCINDEX {
            return self.ccindex().await.map(Some);
        }
        if FileTable::named(name).is_some() && self.base_names {
            return Err(DataFusionError::Plan(format!(
                "{name} shows the full paths of files, which only the archive's owner may see, on its own \
                 machine"
            )));
        }
        if let Some(table) = FileTable::named(name) {
            return Ok(Some(self.file_table(table)?));
        }
        if !self.is_newest {
            return Ok(self.defined_views.read().get(name).cloned());
        }
        Ok(LiveTable::named(name).map(|table| -> Arc<dyn TableProvider> {
            Arc::new(LiveTableProvider {
                table,
                cut: self.cut.clone(),
                range: DumpRange::default(),
            })
        }))
    }
}

impl Tables {
    /// Returns whether lists of tables include it.
    fn is_shown(&self, name: &str) -> bool {
        if FileTable::named(name).is_some() {
            return self.is_newest && self.files.is_there();
        }
        if name == CCINDEX {
            return self.facts.is_ok();
        }
        match Table::ALL.into_iter().find(|table| table.name() == name) {
            Some(Table::Texts) => self
                .facts
                .as_ref()
                .is_ok_and(|_| self.cut.facts_epoch(Table::Texts) > 0),
            Some(_) => self.facts.is_ok(),
            None => self.is_newest || self.defined_views.read().contains_key(name),
        }
    }
}
