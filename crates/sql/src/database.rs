//! Answers statements.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use archive::Cut;
use archive::question::{DumpRange, View};
use async_trait::async_trait;
use cache::Cache;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
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
use remote::{Remote, S3Settings};
use tokio::time::Instant;

use crate::SqlError;
use crate::fact_tables::{FactTables, Wanted};
use crate::file_tables::{FileCatalogue, FileTable, FilesOf};
use crate::functions;
use crate::handle::Handle;
use crate::live::Live;
use crate::memory::{Sharing, runtime};
use crate::place::Place;
use crate::stopping::{Stop, YieldingJoins};
use crate::subqueries::mended;
use crate::table_functions::{InlinksOf, Search};
use crate::tables::{LiveTable, TABLES, TableInfo};
use crate::views::view_statement;

/// Catalog and schema of the tables, which nobody needs to write.
const CATALOG: &str = "weft";
const SCHEMA: &str = "public";

/// Columns that have names of inputs.
const NAMES: [&str; 2] = ["warc_filename", "input"];

/// How a database works.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Memory for the rows of all statements, in bytes; what does not fit is written to temporary files. 1 GiB if absent.
    pub memory_size_bytes: Option<u64>,
    /// Open the archive without a change to it.
    pub read_only: bool,
    /// Threads of a statement; as many as there are cores if absent.
    pub threads: Option<usize>,
    /// Where the facts are: a folder, or `s3://bucket/name`. Where the archive says if absent.
    pub facts: Option<String>,
    /// For facts in an S3 store.
    pub s3: S3Settings,
    /// The settings file of the cache through which such facts are read (`cache.toml`); they are read without one if absent.
    pub cache: Option<PathBuf>,
}

impl Settings {
    /// The stores that tables may be in.
    pub(crate) fn remote(&self) -> Remote {
        let remote = Remote::new(remote::Settings {
            s3: self.s3.clone(),
            ..remote::Settings::default()
        });
        if let Some(file) = self.cache.clone() {
            let in_memory_alone = self.read_only;
            remote.use_cache(move || Cache::open_if_possible(&file, "weft-sql", in_memory_alone));
        }
        remote
    }
}

/// How a statement is answered.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct QuerySettings {
    /// Show the archive as it was at this epoch, as far as the history of the facts goes back. The views are then computed from the facts.
    pub at_epoch: Option<u64>,
    /// Time until the last row.
    pub time_max: Option<Duration>,
    /// Join by sorting, which writes to temporary files what does not fit into memory; joins by hashing are quicker and need one side
    /// of each join in memory.
    pub sorts_for_joins: bool,
    /// Show of names of inputs the last part alone, and no names of files in plans: for those who may not know where files lie.
    pub base_names: bool,
    /// Join in the order of the statement: what stands first is kept in memory. Else whatever seems smaller is, which takes an estimate.
    pub joins_as_written: bool,
}

/// An archive that answers statements.
pub struct Database {
    handle: Arc<Handle>,
    base: SessionState,
    /// Room for statements that join by sorting.
    sorting: Arc<RuntimeEnv>,
    facts: Mutex<Option<Arc<FactTables>>>,
    /// Where they are, if not where the archive says.
    facts_place: Option<String>,
    remote: Remote,
    files: Arc<FileCatalogue>,
}

/// Rows that answer a statement.
pub struct Answer {
    /// The epoch that all tables of the statement were of.
    pub epoch: u64,
    stream: SendableRecordBatchStream,
    deadline: Option<(Instant, Duration)>,
    stop: Stop,
    /// Tables that the rows may be of.
    facts: Option<Arc<FactTables>>,
    /// The rows are made in it.
    _context: SessionContext,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an answer of epoch {}", self.epoch)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

impl Answer {
    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }

    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// [`SqlError`], after which there are no more rows.
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
            (Err(error), Some(facts)) => Some(Err(facts.explained(error.into()).await)),
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
    /// What was read of a store is on the disks of the cache before the program ends.
    fn drop(&mut self) {
        self.remote.close();
    }
}

impl Database {
    /// The archive in `dir`. Nothing is opened before the first statement.
    ///
    /// # Errors
    /// [`SqlError`]: there is no room for temporary files.
    pub fn new(dir: &Path, settings: &Settings) -> Result<Database, SqlError> {
        let joining = runtime(settings.memory_size_bytes, Sharing::Free)?;
        let config = session_config(settings.threads).with_create_default_catalog_and_schema(false);
        let mut functions = SessionStateDefaults::default_scalar_functions();
        functions.extend(functions::all());
        let base = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_runtime_env(joining)
            .with_physical_optimizer_rule(Arc::new(YieldingJoins))
            .with_scalar_functions(functions)
            // No table is made of a file here.
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

    /// The directory of the archive.
    pub fn dir(&self) -> &Path {
        self.handle.dir()
    }

    /// Begins to answer a statement.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn query(&self, statement: &str, settings: &QuerySettings) -> Result<Answer, SqlError> {
        self.query_until(statement, settings, Stop::new()).await
    }

    /// Begins to answer a statement that `stop` ends from outside, also while it makes its first rows. Dropping the answer asks it, too.
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
            (Err(error), Some(facts)) => return Err(facts.explained(error).await),
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

    /// The columns of the rows that answer a statement, without answering it.
    ///
    /// # Errors
    /// [`SqlError`].
    pub async fn columns_of(&self, statement: &str, settings: &QuerySettings) -> Result<SchemaRef, SqlError> {
        let (context, _) = self.context(self.cut().await?, settings).await?;
        Ok(planned(&context, statement, settings, &Stop::new())
            .await?
            .schema())
    }

    /// The tables that there are now, with their columns.
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
        // Opening an archive waits for other processes.
        let cut = system::blocking(move || handle.cut());
        Ok(Arc::new(cut.await.map_err(panicked)??))
    }

    /// Answers a statement about a cut.
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

    /// The tables of facts; where they cannot be read here, the error says why.
    pub(crate) fn facts(
        &self,
        archive: &archive::Archive,
    ) -> Result<Result<Arc<FactTables>, String>, SqlError> {
        let mut facts = self.facts.lock();
        let Some(dir) = archive.facts_dir()? else {
            return Ok(Err("this archive keeps no facts".into()));
        };
        let place = self.facts_place.clone();
        let place = place.unwrap_or_else(|| inputs::path_text(&dir));
        // Another archive may have been made in the same place.
        let kept = facts.take().filter(|kept| kept.address() == place);
        let kept = match kept {
            Some(kept) => kept,
            None => match Place::new(&place, &self.remote) {
                Ok(place) => Arc::new(FactTables::new(place)),
                Err(error) => return Ok(Err(format!("the facts of this archive are not reached: {error}"))),
            },
        };
        *facts = Some(Arc::clone(&kept));
        Ok(Ok(kept))
    }

    /// A session whose tables are of one epoch, and that epoch.
    async fn context(
        &self,
        cut: Arc<Cut>,
        settings: &QuerySettings,
    ) -> Result<(SessionContext, u64), SqlError> {
        let epoch = match settings.at_epoch {
            Some(epoch) if epoch > cut.epoch() => {
                return Err(SqlError::Epoch {
                    table: "captures",
                    why: format!("epoch {epoch} is not there yet; the newest is {}", cut.epoch()),
                });
            }
            Some(epoch) => epoch,
            None => cut.epoch(),
        };
        let tables = Arc::new(Tables {
            facts: self.facts(cut.archive())?,
            files: self.files.clone(),
            of_definitions: RwLock::default(),
            state: RwLock::default(),
            is_newest: settings.at_epoch.is_none(),
            base_names: settings.base_names,
            epoch,
            cut,
        });
        let schemas = MemoryCatalogProvider::new();
        schemas.register_schema(SCHEMA, tables.clone())?;
        let catalogs = MemoryCatalogProviderList::new();
        catalogs.register_catalog(CATALOG.to_owned(), Arc::new(schemas));
        let search = Search {
            cut: tables.cut.clone(),
        };
        let inlinks = InlinksOf {
            cut: tables.cut.clone(),
        };
        let mut config = self.base.config().clone();
        let options = config.options_mut();
        options.optimizer.prefer_hash_join = !settings.sorts_for_joins;
        options.optimizer.join_reordering = !settings.joins_as_written;
        // Texts that share their bytes with other rows count with all of these where rows are kept, as if each
        // had a copy: what has room would be refused.
        options.execution.parquet.schema_force_view_types =
            !(settings.sorts_for_joins || settings.joins_as_written);
        if settings.sorts_for_joins {
            // Each sort takes room for itself, on each thread.
            options.execution.target_partitions = 1;
        }
        let mut builder = SessionStateBuilder::new_from_existing(self.base.clone())
            .with_config(config)
            .with_catalog_list(Arc::new(catalogs));
        if settings.sorts_for_joins {
            builder = builder.with_runtime_env(self.sorting.clone());
        }
        let functions = builder.table_functions().get_or_insert_default();
        if tables.is_newest {
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
                tables.of_definitions.write().insert(view.name(), Arc::new(table));
            }
        }
        Ok((context, epoch))
    }
}

/// Settings of a session, with so many threads for a statement.
pub(crate) fn session_config(threads: Option<usize>) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_information_schema(true);
    if let Some(threads) = threads {
        config = config.with_target_partitions(threads.max(1));
    }
    let options = config.options_mut();
    // So that errors name a line and a column.
    options.sql_parser.collect_spans = true;
    options.execution.parquet.pushdown_filters = true;
    options.execution.parquet.reorder_filters = true;
    config
}

/// Runs a statement that reads.
async fn run(
    context: &SessionContext,
    statement: &str,
    settings: &QuerySettings,
    stop: &Stop,
) -> Result<SendableRecordBatchStream, SqlError> {
    let plan = planned(context, statement, settings, stop).await?;
    Ok(execute_stream(plan, context.task_ctx())?)
}

/// Plans a statement that reads.
async fn planned(
    context: &SessionContext,
    statement: &str,
    settings: &QuerySettings,
    stop: &Stop,
) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    let reads = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let state = context.state();
    let dialect = state.config().options().sql_parser.dialect;
    let parsed = state.sql_to_statement(statement, &dialect)?;
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
    let told = |error| with_tables(SqlError::from(error));
    let plan = state.statement_to_plan(parsed).await.map_err(told)?;
    reads.verify_plan(&plan)?;
    let plan = mended(plan).map_err(told)?;
    if settings.base_names && matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) {
        return Err(SqlError::Statement {
            message: "EXPLAIN names files with their folders, which only the owner of the archive sees, on its machine"
                .to_owned(),
            line: 0,
            column: 0,
        });
    }
    // After all else is decided, so that no rule moves the conditions that stop it.
    let plan = stop.within(state.optimize(&plan).map_err(told)?)?;
    let planned = state.query_planner().create_physical_plan(&plan, &state).await;
    planned.map_err(told)
}

/// Names the tables that there are where a statement names another.
fn with_tables(error: SqlError) -> SqlError {
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
                    "there is no table {}; there are {}",
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

pub(crate) fn panicked(error: tokio::task::JoinError) -> SqlError {
    SqlError::Execution(format!("a thread ended: {error}"))
}

/// The tables of one statement. They are opened as the statement names them.
struct Tables {
    cut: Arc<Cut>,
    epoch: u64,
    /// Whether the epoch is that of the cut: then views are live.
    is_newest: bool,
    /// Whether names of inputs are shown without their folders.
    base_names: bool,
    /// The tables of facts, or why there are none.
    facts: Result<Arc<FactTables>, String>,
    files: Arc<FileCatalogue>,
    /// Views of an older epoch.
    of_definitions: RwLock<HashMap<&'static str, Arc<dyn TableProvider>>>,
    /// The session that these are the tables of.
    state: RwLock<Option<Weak<RwLock<SessionState>>>>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tables of epoch {}", self.epoch)
    }
}

impl Tables {
    async fn fact_table(&self, table: Table) -> Result<Arc<dyn TableProvider>, SqlError> {
        let facts = self.facts.as_ref().map_err(|why| {
            SqlError::NoFacts(format!(
                "{why}, so there is no table {}; a new archive of the same inputs gets it",
                table.name()
            ))
        })?;
        let wanted = Wanted {
            epoch: self.epoch,
            at_least: match self.is_newest {
                true => self.cut.facts_epoch(table),
                false => 0,
            },
        };
        let state = self.state.read().as_ref().and_then(Weak::upgrade);
        let state = state.map(|state| state.read().clone());
        let Some(state) = state else {
            return Err(SqlError::Execution("the session has ended".into()));
        };
        if table == Table::Texts && facts.newest(table).await?.is_none() {
            return Err(SqlError::NoFacts(
                "this archive keeps no texts; a new archive does with weft load --facts-text".into(),
            ));
        }
        facts.provider(table, wanted, Arc::new(state)).await
    }

    fn file_table(&self, table: FileTable) -> Result<Arc<dyn TableProvider>, SqlError> {
        if !self.is_newest {
            return Err(SqlError::NoFacts(format!(
                "the catalogue of files has no older epochs, so there is no table {} with at_epoch",
                table.name()
            )));
        }
        if !self.files.is_there() {
            return Err(self.files.missing());
        }
        let catalogue = self.files.clone();
        Ok(Arc::new(FilesOf { table, catalogue }))
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
            Some(table) if self.base_names => with_base_names(name, table).map(Some),
            table => Ok(table),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        TABLES.iter().any(|table| table.name == name)
    }
}

/// A table whose names of inputs are without their folders.
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
        match is_name(field.name()) {
            true => functions::base_name().call(vec![column]).alias(field.name()),
            false => column,
        }
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?
        .project(columns)?
        .build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

impl Tables {
    /// A table as it is.
    async fn whole_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        if let Some(table) = Table::ALL.into_iter().find(|table| table.name() == name) {
            return Ok(Some(self.fact_table(table).await?));
        }
        if FileTable::named(name).is_some() && self.base_names {
            return Err(DataFusionError::Plan(format!(
                "{name} names files with their folders, which only the owner of the archive sees, on its machine"
            )));
        }
        if let Some(table) = FileTable::named(name) {
            return Ok(Some(self.file_table(table)?));
        }
        if !self.is_newest {
            return Ok(self.of_definitions.read().get(name).cloned());
        }
        Ok(LiveTable::named(name).map(|table| -> Arc<dyn TableProvider> {
            Arc::new(Live {
                table,
                cut: self.cut.clone(),
                range: DumpRange::default(),
            })
        }))
    }
}

impl Tables {
    /// Whether lists of tables name it.
    fn is_shown(&self, name: &str) -> bool {
        if FileTable::named(name).is_some() {
            return self.is_newest && self.files.is_there();
        }
        match Table::ALL.into_iter().find(|table| table.name() == name) {
            Some(Table::Texts) => self
                .facts
                .as_ref()
                .is_ok_and(|_| self.cut.facts_epoch(Table::Texts) > 0),
            Some(_) => self.facts.is_ok(),
            None => self.is_newest || self.of_definitions.read().contains_key(name),
        }
    }
}
