import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;

/** Makes the calls that a database tool makes over JDBC. Prints a line for each: its name, and what was found. */
class Jdbc {
    interface Call {
        Object run() throws SQLException;
    }

    static void say(String name, Call call) {
        Object found;
        try {
            found = call.run();
        } catch (SQLException | RuntimeException error) {
            found = "error: " + error;
        }
        System.out.println(name + "\t" + String.valueOf(found).replace('\n', ' '));
    }

    static String column(ResultSet rows, String name) throws SQLException {
        StringBuilder values = new StringBuilder();
        try (rows) {
            while (rows.next()) {
                values.append(values.length() == 0 ? "" : ",").append(rows.getString(name));
            }
        }
        return values.toString();
    }

    static int count(ResultSet rows) throws SQLException {
        int count = 0;
        try (rows) {
            while (rows.next()) {
                count++;
            }
        }
        return count;
    }

    static long number(ResultSet rows) throws SQLException {
        try (rows) {
            rows.next();
            return rows.getLong(1);
        }
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            DatabaseMetaData about = connection.getMetaData();
            say("product", about::getDatabaseProductName);
            say("quote", about::getIdentifierQuoteString);
            say("read-only", about::isReadOnly);
            say("transactions", about::supportsTransactions);
            say("keywords", about::getSQLKeywords);
            say("functions", () -> about.getNumericFunctions() + about.getStringFunctions()
                    + about.getSystemFunctions() + about.getTimeDateFunctions());
            say("escape", about::getSearchStringEscape);
            say("separator", about::getCatalogSeparator);
            say("schemas in queries", about::supportsSchemasInDataManipulation);
            say("catalogs in queries", about::supportsCatalogsInDataManipulation);
            say("grouping", about::supportsGroupBy);
            say("unions", about::supportsUnionAll);
            say("outer joins", about::supportsFullOuterJoins);
            say("longest statement", about::getMaxStatementLength);
            say("catalogs", () -> column(about.getCatalogs(), "TABLE_CAT"));
            say("schemas", () -> column(about.getSchemas(), "TABLE_SCHEM"));
            say("table types", () -> column(about.getTableTypes(), "TABLE_TYPE"));
            say("tables", () -> column(about.getTables("weft", "public", "%", null), "TABLE_NAME"));
            say("columns", () -> column(about.getColumns("weft", "public", "domains", "%"), "COLUMN_NAME"));
            say("types", () -> column(about.getTypeInfo(), "TYPE_NAME"));
            say("primary keys", () -> count(about.getPrimaryKeys("weft", "public", "captures")));
            say("imported keys", () -> count(about.getImportedKeys("weft", "public", "captures")));
            say("exported keys", () -> count(about.getExportedKeys("weft", "public", "captures")));
            say("cross reference", () -> count(about.getCrossReference(
                    "weft", "public", "captures", "weft", "public", "links")));
            say("index info", () -> count(about.getIndexInfo("weft", "public", "captures", false, true)));
            say("statement", () -> {
                try (Statement statement = connection.createStatement()) {
                    return number(statement.executeQuery("select count(*) from captures"));
                }
            });
            String counting = "select count(*) from captures where fetch_status = ? and url like ? and fetch_time > ?";
            try (PreparedStatement prepared = connection.prepareStatement(counting)) {
                say("parameters", () -> prepared.getParameterMetaData().getParameterCount());
                for (int status : new int[] {200, 999}) {
                    say("status " + status, () -> {
                        prepared.setInt(1, status);
                        prepared.setString(2, "http%");
                        prepared.setTimestamp(3, new Timestamp(0));
                        return number(prepared.executeQuery());
                    });
                }
                say("null", () -> {
                    prepared.setNull(1, Types.INTEGER);
                    return number(prepared.executeQuery());
                });
            }
            say("page of rows", () -> {
                try (PreparedStatement prepared = connection.prepareStatement("select url from captures limit ?")) {
                    prepared.setLong(1, 3);
                    return count(prepared.executeQuery());
                }
            });
            say("changes", () -> {
                try (Statement statement = connection.createStatement()) {
                    return statement.executeUpdate("delete from captures");
                }
            });
        }
    }
}
