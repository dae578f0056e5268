import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.HexFormat;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.HllSketchEstimate;
import org.apache.spark.sql.catalyst.expressions.HllUnion;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.aggregate.CountMinSketchAgg;
import org.apache.spark.sql.catalyst.expressions.aggregate.HllSketchAgg;
import org.apache.spark.sql.catalyst.expressions.aggregate.HllUnionAgg;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Functions of sketches as Spark serializes them, each on a line, as they are and after they were evaluated. */
public final class Aggregates {
    public static void main(String[] args) throws IOException {
        for (boolean used : new boolean[] {false, true}) {
            HllSketchAgg sketch = new HllSketchAgg(column(DataTypes.StringType), Literal$.MODULE$.apply(10), 1, 2);
            HllUnionAgg union = new HllUnionAgg(column(DataTypes.BinaryType), Literal$.MODULE$.apply(true), 1, 2);
            CountMinSketchAgg counts = new CountMinSketchAgg(
                    column(DataTypes.LongType),
                    Literal$.MODULE$.apply(0.5),
                    Literal$.MODULE$.apply(0.9),
                    Literal$.MODULE$.apply(7),
                    1,
                    2);
            if (used) {
                sketch.createAggregationBuffer();
                union.allowDifferentLgConfigK();
                counts.createAggregationBuffer();
                for (Expression of : new Expression[] {sketch, union, counts}) {
                    of.references();
                    of.resolved();
                    of.semanticHash();
                    of.toString();
                }
                sketch.inputAggBufferAttributes();
                union.aggBufferAttributes();
            }
            for (Object of : new Object[] {sketch, union, counts}) {
                write(of);
            }
        }
        Expression bytes = column(DataTypes.BinaryType);
        write(new HllSketchEstimate(bytes));
        write(new HllUnion(bytes, bytes, Literal$.MODULE$.apply(false)));
    }

    private static Expression column(DataType type) {
        return new BoundReference(0, type, true);
    }

    private static void write(Object of) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(of);
        }
        System.out.println(HexFormat.of().formatHex(bytes.toByteArray()));
    }
}
