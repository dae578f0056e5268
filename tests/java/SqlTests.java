package sqltests;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.planning.PhysicalOperation;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.execution.HiveResult;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.types.StructType;
import scala.Function0;
import scala.Option;
import scala.Tuple3;

/**
 * What Spark's `SQLQueryTestSuite` does with a query, for a driver in Python. Sessions and data sets are of other
 * classes in Spark 3.5 than later.
 */
public class SqlTests {
    /**
     * An answer: `rows` in their order, `set` if they have none, or `error`; then the schema, or the class of the
     * error and its condition; then rows, or the message.
     */
    public static String[] run(Object session, String sql) {
        try {
            Object rows = call(session, "sql", String.class, sql);
            QueryExecution execution = (QueryExecution) call(rows, "queryExecution", null, null);
            StructType schema = (StructType) call(rows, "schema", null, null);
            List<String> answer = new ArrayList<>();
            answer.add(isSorted(execution.analyzed()) ? "rows" : "set");
            answer.add(schema.catalogString());
            Function0<scala.collection.Seq<String>> run = () -> HiveResult.hiveResultString(execution.executedPlan());
            scala.collection.Iterator<String> lines =
                ((scala.collection.Seq<String>) SQLExecution.withNewExecutionId(execution, Option.apply(sql), run)).iterator();
            while (lines.hasNext()) {
                answer.add(String.valueOf(lines.next()));
            }
            return answer.toArray(new String[0]);
        } catch (Throwable error) {
            return error(error);
        }
    }

    /** The suite looks one cause deep; a condition deeper down counts here as well. */
    private static String[] error(Throwable error) {
        Throwable named = error;
        while (!(named instanceof SparkThrowable && ((SparkThrowable) named).getErrorClass() != null) && named.getCause() != null) {
            named = named.getCause();
        }
        String condition = named instanceof SparkThrowable ? ((SparkThrowable) named).getErrorClass() : null;
        return new String[] {"error", named.getClass().getName() + " " + condition, String.valueOf(named.getMessage())};
    }

    private static boolean isSorted(LogicalPlan plan) {
        if (plan instanceof Join || plan instanceof Aggregate || plan instanceof Generate || plan instanceof Sample
                || plan instanceof Distinct) {
            return false;
        }
        if (plan.getClass().getSimpleName().startsWith("Describe")) {
            return true;
        }
        Option<?> operation = PhysicalOperation.unapply(plan);
        if (operation.isDefined() && ((Tuple3<?, ?, ?>) operation.get())._3() instanceof Sort) {
            Sort sort = (Sort) ((Tuple3<?, ?, ?>) operation.get())._3();
            if (sort.global()) {
                return true;
            }
        }
        scala.collection.Iterator<LogicalPlan> children = plan.children().iterator();
        while (children.hasNext()) {
            if (isSorted(children.next())) {
                return true;
            }
        }
        return false;
    }

    private static Object call(Object object, String method, Class<?> type, Object argument) throws Throwable {
        try {
            return type == null
                ? object.getClass().getMethod(method).invoke(object)
                : object.getClass().getMethod(method, type).invoke(object, argument);
        } catch (java.lang.reflect.InvocationTargetException failed) {
            throw failed.getCause();
        }
    }
}
