//! Executes statements within the limits of the server.
//!
//! Statements run on separate threads: a long computation does not block new connections, and its
//! time limit still applies.

use std::sync::Arc;
use std::time::Duration;

use sql::arrow::array::RecordBatch;
use sql::arrow::datatypes::SchemaRef;
use sql::{Database, QuerySettings, SqlError, StatementShape, Stop};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

/// The threads that run statements.
pub(super) struct Threads(Option<Runtime>);

impl Threads {
    pub(super) fn start(statements_max: usize) -> std::io::Result<Threads> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = Builder::new_multi_thread()
            // One per partition of each statement, so that statements do not wait for each other's
            // threads.
            .worker_threads(statements_max.saturating_mul(cores).min(256))
            .thread_name("statements")
            .enable_all()
            .build()?;
        Ok(Threads(Some(threads)))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Returns without waiting: statements are read-only.
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

/// Executes a limited number of statements at a time, each within a time limit.
#[derive(Clone)]
pub(super) struct StatementRunner {
    pub(super) database: Arc<Database>,
    threads: Arc<Threads>,
    time_max: Duration,
    permits: Arc<Semaphore>,
}

/// Options of a statement.
#[derive(Debug, Clone, Default)]
pub(super) struct StatementOptions {
    /// The epoch to show; the newest if `None`.
    pub(super) at_epoch: Option<u64>,
    /// Whether names of inputs are shown without their folders.
    pub(super) base_names: bool,
    /// Values for the parameters of the statement.
    pub(super) parameters: Option<RecordBatch>,
}

impl From<StatementOptions> for QuerySettings {
    fn from(options: StatementOptions) -> QuerySettings {
        let mut settings = QuerySettings::default();
        settings.at_epoch = options.at_epoch;
        settings.base_names = options.base_names;
        settings.parameters = options.parameters;
        settings
    }
}

/// The part of an answer that precedes its rows.
struct Head {
    epoch: u64,
    schema: SchemaRef,
}

enum Piece {
    Head(Head),
    Rows(RecordBatch),
}

type Pieces = mpsc::Receiver<Result<Piece, SqlError>>;

/// An answer with its first rows. Dropping it stops the statement.
pub(super) struct RunningStatement {
    pub(super) epoch: u64,
    pub(super) schema: SchemaRef,
    first: Option<RecordBatch>,
    rest: Rest,
}

/// The remaining rows.
struct Rest {
    pieces: Pieces,
    deadline: Instant,
    time_max: Duration,
    stop: Stop,
    _permit: OwnedSemaphorePermit,
}

impl StatementRunner {
    pub(super) fn new(
        database: Arc<Database>,
        threads: Threads,
        time_max: Duration,
        statements_max: usize,
    ) -> StatementRunner {
        StatementRunner {
            database,
            threads: Arc::new(threads),
            time_max,
            permits: Arc::new(Semaphore::new(statements_max)),
        }
    }

    /// Waits for a slot and for the first rows. By then most errors in a statement are known, so
    /// they can be reported before the response starts.
    pub(super) async fn begin(
        &self,
        statement: &str,
        options: StatementOptions,
    ) -> Result<RunningStatement, SqlError> {
        let deadline = Instant::now() + self.time_max;
        let permit = tokio::time::timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit
            .map_err(|_| time_limit(self.time_max))?
            .map_err(|_| SqlError::Execution("the server is shutting down".into()))?;
        let (sender, pieces) = mpsc::channel(1);
        let stop = Stop::new();
        let mut rest = Rest {
            pieces,
            deadline,
            time_max: self.time_max,
            stop: stop.clone(),
            _permit: permit,
        };
        let settings = QuerySettings::from(options);
        let (database, statement) = (Arc::clone(&self.database), statement.to_owned());
        let Some(threads) = &self.threads.0 else {
            return Err(SqlError::Execution("the server is shutting down".into()));
        };
        threads.spawn(async move {
            let answered = answer(&database, &statement, &settings, stop, &sender).await;
            if let Err(error) = answered {
                // Fails only if the receiver is gone.
                let _ = sender.send(Err(error)).await;
            }
        });
        let head = match rest.next().await {
            Some(Ok(Piece::Head(head))) => head,
            Some(Err(error)) => return Err(error),
            Some(Ok(Piece::Rows(_))) | None => {
                return Err(SqlError::Execution("the statement's thread failed".into()));
            }
        };
        Ok(RunningStatement {
            epoch: head.epoch,
            schema: head.schema,
            first: rest.rows().await.transpose()?,
            rest,
        })
    }

    /// Returns the columns of a statement's rows.
    pub(super) async fn columns_of(
        &self,
        statement: &str,
        options: StatementOptions,
    ) -> Result<SchemaRef, SqlError> {
        let settings = QuerySettings::from(options);
        let planned = self.database.columns_of(statement, &settings);
        self.within_time(planned).await
    }

    /// Returns the columns and the parameters of a statement.
    pub(super) async fn shape_of(&self, statement: &str) -> Result<StatementShape, SqlError> {
        let settings = QuerySettings::default();
        let planned = self.database.shape_of(statement, &settings);
        self.within_time(planned).await
    }

    async fn within_time<T>(
        &self,
        planned: impl Future<Output = Result<T, SqlError>>,
    ) -> Result<T, SqlError> {
        match tokio::time::timeout(self.time_max, planned).await {
            Ok(planned) => planned,
            Err(_) => Err(time_limit(self.time_max)),
        }
    }
}

async fn answer(
    database: &Database,
    statement: &str,
    settings: &QuerySettings,
    stop: Stop,
    sender: &mpsc::Sender<Result<Piece, SqlError>>,
) -> Result<(), SqlError> {
    let mut answer = database.query_until(statement, settings, stop).await?;
    let head = Head {
        epoch: answer.epoch,
        schema: answer.schema(),
    };
    let mut is_wanted = sender.send(Ok(Piece::Head(head))).await.is_ok();
    while is_wanted && let Some(batch) = answer.next().await {
        is_wanted = sender.send(Ok(Piece::Rows(batch?))).await.is_ok();
    }
    Ok(())
}

fn time_limit(time_max: Duration) -> SqlError {
    SqlError::TimeLimit {
        seconds: time_max.as_secs(),
    }
}

impl Rest {
    async fn next(&mut self) -> Option<Result<Piece, SqlError>> {
        let next = tokio::time::timeout_at(self.deadline, self.pieces.recv());
        next.await
            .unwrap_or_else(|_| Some(Err(time_limit(self.time_max))))
    }

    async fn rows(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        match self.next().await? {
            Ok(Piece::Rows(rows)) => Some(Ok(rows)),
            Ok(Piece::Head(_)) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.stop.request();
    }
}

impl RunningStatement {
    /// Returns the next rows; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        match self.first.take() {
            Some(first) => Some(Ok(first)),
            None => self.rest.rows().await,
        }
    }

    /// Returns the first `rows_max` rows, and whether there are more.
    pub(super) async fn first_rows(mut self, rows_max: usize) -> Result<(Vec<RecordBatch>, bool), SqlError> {
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(batch) = self.next().await {
            let batch = batch?;
            let room = rows_max - rows;
            if batch.num_rows() > room {
                batches.push(batch.slice(0, room));
                return Ok((batches, true));
            }
            rows += batch.num_rows();
            batches.push(batch);
        }
        Ok((batches, false))
    }
}
