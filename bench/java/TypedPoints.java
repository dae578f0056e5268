import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.MapGroupsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Typed data sets whose functions compute {@link Haversine}'s distances. */
public final class TypedPoints {
    private static final Haversine HAVERSINE = new Haversine();
    private static final Encoder<Tuple2<String, Double>> PAIR = Encoders.tuple(Encoders.STRING(), Encoders.DOUBLE());

    private TypedPoints() {}

    private static double distance(long id) {
        return HAVERSINE.call(id % 181 - 90.0, id % 361 - 180.0, id % 179 - 89.0, id % 359 - 179.0);
    }

    /** The rows of a data frame, which are an RDD of objects once and a data frame again. */
    public static Dataset<Row> again(SparkSession spark, Dataset<Row> rows) {
        return spark.createDataFrame(rows.toJavaRDD(), rows.schema());
    }

    /** The sum of the lengths of rows, outside of queries. */
    public static long lengths(Dataset<Row> rows) {
        return rows.toJavaRDD().map(row -> (long) row.length()).reduce((one, other) -> one + other);
    }

    /** A distance, as {@code value}, of each {@code id}. */
    public static Dataset<Row> each(Dataset<Row> rows) {
        return rows.select("id").as(Encoders.LONG())
            .map((MapFunction<Long, Double>) TypedPoints::distance, Encoders.DOUBLE()).toDF();
    }

    /** A text and a distance of each text and {@code id}. */
    public static Dataset<Row> pairs(Dataset<Row> rows) {
        return rows.select("s", "id").as(Encoders.tuple(Encoders.STRING(), Encoders.LONG()))
            .map((MapFunction<Tuple2<String, Long>, Tuple2<String, Double>>) p -> new Tuple2<>(p._1(), distance(p._2())), PAIR)
            .toDF("s", "x");
    }

    /** The sum of the distances, as {@code _2}, of each group of the remainder of {@code id}. */
    public static Dataset<Row> groups(Dataset<Row> rows, long groups) {
        return rows.select("id").as(Encoders.LONG())
            .groupByKey((MapFunction<Long, String>) id -> "k" + id % groups, Encoders.STRING())
            .mapGroups((MapGroupsFunction<String, Long, Tuple2<String, Double>>) (key, ids) -> {
                double sum = 0;
                while (ids.hasNext()) {
                    sum += distance(ids.next());
                }
                return new Tuple2<>(key, sum);
            }, PAIR).toDF();
    }
}
