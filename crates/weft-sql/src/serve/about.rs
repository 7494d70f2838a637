//! Properties of the server for clients (`GetSqlInfo`). The JDBC driver fails where a property is
//! missing, so every property that it reads is here.

use std::collections::HashMap;
use std::sync::LazyLock;

use arrow_flight::error::FlightError;
use arrow_flight::sql::SqlInfo;
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use tonic::Status;

/// Properties that hold.
const TRUE: [SqlInfo; 12] = [
    SqlInfo::FlightSqlServerReadOnly,
    SqlInfo::FlightSqlServerSql,
    SqlInfo::SqlAllTablesAreSelectable,
    SqlInfo::SqlSupportsColumnAliasing,
    SqlInfo::SqlNullPlusNullIsNull,
    SqlInfo::SqlSupportsTableCorrelationNames,
    SqlInfo::SqlSupportsExpressionsInOrderBy,
    SqlInfo::SqlSupportsOrderByUnrelated,
    SqlInfo::SqlSupportsNonNullableColumns,
    SqlInfo::SqlCatalogAtStart,
    SqlInfo::SqlCorrelatedSubqueriesSupported,
    SqlInfo::SqlSupportsLikeEscapeClause,
];

/// Properties that do not hold.
const FALSE: [SqlInfo; 19] = [
    SqlInfo::FlightSqlServerSubstrait,
    SqlInfo::FlightSqlServerCancel,
    SqlInfo::FlightSqlServerBulkIngestion,
    SqlInfo::SqlDdlCatalog,
    SqlInfo::SqlDdlSchema,
    SqlInfo::SqlDdlTable,
    SqlInfo::SqlSupportsDifferentTableCorrelationNames,
    SqlInfo::SqlSupportsIntegrityEnhancementFacility,
    SqlInfo::SqlSelectForUpdateSupported,
    SqlInfo::SqlStoredProceduresSupported,
    SqlInfo::SqlMaxRowSizeIncludesBlobs,
    SqlInfo::SqlTransactionsSupported,
    SqlInfo::SqlDataDefinitionCausesTransactionCommit,
    SqlInfo::SqlDataDefinitionsInTransactionsIgnored,
    SqlInfo::SqlBatchUpdatesSupported,
    SqlInfo::SqlSavepointsSupported,
    SqlInfo::SqlNamedParametersSupported,
    SqlInfo::SqlLocatorsUpdateCopy,
    SqlInfo::SqlStoredFunctionsUsingCallSyntaxSupported,
];

/// Limits that the server does not have.
const UNLIMITED: [SqlInfo; 21] = [
    SqlInfo::SqlMaxBinaryLiteralLength,
    SqlInfo::SqlMaxCharLiteralLength,
    SqlInfo::SqlMaxColumnNameLength,
    SqlInfo::SqlMaxColumnsInGroupBy,
    SqlInfo::SqlMaxColumnsInIndex,
    SqlInfo::SqlMaxColumnsInOrderBy,
    SqlInfo::SqlMaxColumnsInSelect,
    SqlInfo::SqlMaxColumnsInTable,
    SqlInfo::SqlMaxConnections,
    SqlInfo::SqlMaxCursorNameLength,
    SqlInfo::SqlMaxIndexLength,
    SqlInfo::SqlDbSchemaNameLength,
    SqlInfo::SqlMaxProcedureNameLength,
    SqlInfo::SqlMaxCatalogNameLength,
    SqlInfo::SqlMaxRowSize,
    SqlInfo::SqlMaxStatementLength,
    SqlInfo::SqlMaxStatements,
    SqlInfo::SqlMaxTableNameLength,
    SqlInfo::SqlMaxTablesInSelect,
    SqlInfo::SqlMaxUsernameLength,
    // The level "no transactions".
    SqlInfo::SqlDefaultTransactionIsolation,
];

/// Sets of features: a bit for each in the enumeration of the protocol.
const FEATURES: [(SqlInfo, i32); 11] = [
    // Unrelated to the columns of the rows, and of others besides.
    (SqlInfo::SqlSupportedGroupBy, 0b11),
    // Minimum and core.
    (SqlInfo::SqlSupportedGrammar, 0b11),
    // Entry level.
    (SqlInfo::SqlAnsi92SupportedLevel, 0b1),
    // Limited and full.
    (SqlInfo::SqlOuterJoinsSupportLevel, 0b110),
    (SqlInfo::SqlSchemasSupportedActions, 0),
    (SqlInfo::SqlCatalogsSupportedActions, 0),
    (SqlInfo::SqlSupportedPositionedCommands, 0),
    // In comparisons, EXISTS and IN, but not with ANY and ALL.
    (SqlInfo::SqlSupportedSubqueries, 0b111),
    // UNION and UNION ALL.
    (SqlInfo::SqlSupportedUnions, 0b11),
    (SqlInfo::FlightSqlServerTransaction, 0),
    (SqlInfo::SqlSupportedTransactionsIsolationLevels, 0),
];

const TEXTS: [(SqlInfo, &str); 9] = [
    (SqlInfo::FlightSqlServerName, "Weft"),
    (SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION")),
    (SqlInfo::FlightSqlServerArrowVersion, "1.3"),
    (SqlInfo::SqlIdentifierQuoteChar, "\""),
    (SqlInfo::SqlSearchStringEscape, "\\"),
    (SqlInfo::SqlExtraNameCharacters, ""),
    (SqlInfo::SqlSchemaTerm, "schema"),
    (SqlInfo::SqlProcedureTerm, "procedure"),
    (SqlInfo::SqlCatalogTerm, "catalog"),
];

static ABOUT: LazyLock<Result<SqlInfoData, FlightError>> = LazyLock::new(|| {
    let mut about = SqlInfoDataBuilder::new();
    for (name, text) in TEXTS {
        about.append(name, text);
    }
    for name in TRUE {
        about.append(name, true);
    }
    for name in FALSE {
        about.append(name, false);
    }
    for name in UNLIMITED {
        about.append(name, 0_i64);
    }
    for (name, features) in FEATURES {
        about.append(name, features);
    }
    about.append(SqlInfo::SqlSupportsConvert, HashMap::<i32, Vec<i32>>::new());
    about.build()
});

/// Returns the properties of the server.
pub(super) fn about() -> Result<&'static SqlInfoData, Status> {
    ABOUT
        .as_ref()
        .map_err(|error| Status::internal(error.to_string()))
}
