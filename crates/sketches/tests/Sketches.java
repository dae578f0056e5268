import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.Union;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.HllSketchEstimate;
import org.apache.spark.sql.catalyst.expressions.HllUnion;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.aggregate.CountMinSketchAgg;
import org.apache.spark.sql.catalyst.expressions.aggregate.HllSketchAgg;
import org.apache.spark.sql.catalyst.expressions.aggregate.HllUnionAgg;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.sketch.CountMinSketch;
import scala.Option;

/**
 * What Spark's own aggregates and functions of sketches make of values, for jvm.rs: a step on each line, with what
 * comes of it. Sketches are kept in places by number.
 */
public final class Sketches {
    private static final int PLACES = 6;

    private static final Object[] HLL = new Object[PLACES];
    private static final Object[] UNIONS = new Object[PLACES];
    private static final Random RANDOM = new Random(20240607);
    private static PrintStream out;

    public static void main(String[] args) {
        out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16));
        for (int lgK : new int[] {4, 5, 7, 8, 9, 12, 12, 12, 13, 17, 21}) {
            for (int round = 0; round < (lgK > 13 ? 1 : 3); round++) {
                hll(lgK);
            }
        }
        sizes();
        countMin();
        out.flush();
    }

    private static Expression column(DataType type) {
        return new BoundReference(0, type, true);
    }

    private static InternalRow row(Object value) {
        return new GenericInternalRow(new Object[] {value});
    }

    private static HllSketchAgg agg(DataType type, int lgK) {
        return new HllSketchAgg(column(type), Literal$.MODULE$.apply(lgK), 0, 0);
    }

    private static final HllUnionAgg UNION =
            new HllUnionAgg(column(DataTypes.BinaryType), Literal$.MODULE$.apply(true), 0, 0);

    /** A random number of values, such that sketches of all modes are common. */
    private static int number() {
        return switch (RANDOM.nextInt(8)) {
            case 0 -> RANDOM.nextInt(3);
            case 1, 2 -> 1 + RANDOM.nextInt(12);
            case 3, 4 -> RANDOM.nextInt(400);
            case 5, 6 -> RANDOM.nextInt(6000);
            default -> RANDOM.nextInt(120000);
        };
    }

    private static void hll(int lgK) {
        for (int place = 0; place < PLACES; place++) {
            int own = RANDOM.nextInt(3) == 0 ? Math.max(4, Math.min(21, lgK + RANDOM.nextInt(5) - 2)) : lgK;
            out.println("new " + place + " " + own);
            HLL[place] = agg(DataTypes.LongType, own).createAggregationBuffer();
            add(place, own);
            UNIONS[place] = UNION.createAggregationBuffer();
            out.println("none " + place);
        }
        for (int step = 0; step < 40; step++) {
            int to = RANDOM.nextInt(PLACES);
            int from = RANDOM.nextInt(PLACES);
            HllSketch sketch = (HllSketch) HLL[to];
            int own = sketch.getLgConfigK();
            HllSketchAgg agg = agg(DataTypes.LongType, own);
            byte[] bytes = agg.serialize((HllSketch) HLL[from]);
            switch (RANDOM.nextInt(6)) {
                case 0 -> {
                    out.println("again " + to);
                    HLL[to] = agg.deserialize(agg.serialize(sketch));
                    add(to, own);
                }
                case 1 -> {
                    out.println("merge " + to + " " + from);
                    HLL[to] = agg.merge(sketch, agg.deserialize(bytes));
                    told(to);
                }
                case 2 -> {
                    if (!differ(sketch, (HllSketch) HLL[from])) {
                        union(to, from);
                    }
                }
                case 3, 4 -> {
                    if (differ(option(to), (HllSketch) HLL[from])) {
                        break;
                    }
                    out.println("unite " + to + " " + from);
                    UNIONS[to] = UNION.update(option(to), row(bytes));
                    toldUnion(to);
                }
                default -> {
                    byte[] other = UNION.serialize(option(from));
                    if (option(from).isDefined()) {
                        out.println("asked " + from);
                    }
                    if (other.length > 0 && !differ(option(to), HllSketch.heapify(other))) {
                        out.println("unions " + to + " " + from);
                        UNIONS[to] = UNION.merge(option(to), UNION.deserialize(other));
                        toldUnion(to);
                    }
                }
            }
            if (RANDOM.nextInt(15) == 0) {
                out.println("none " + to);
                UNIONS[to] = UNION.createAggregationBuffer();
            }
        }
    }

    /** Whether one is of nothing and of another size: what comes of that depends on the version. */
    private static boolean differ(HllSketch left, HllSketch right) {
        return (left.isEmpty() || right.isEmpty()) && left.getLgConfigK() != right.getLgConfigK();
    }

    private static boolean differ(Option<Union> left, HllSketch right) {
        return left.isDefined()
                && (left.get().isEmpty() || right.isEmpty())
                && left.get().getLgConfigK() != right.getLgConfigK();
    }

    @SuppressWarnings("unchecked")
    private static Option<Union> option(int place) {
        return (Option<Union>) UNIONS[place];
    }

    private static void union(int to, int from) {
        HllSketchAgg agg = agg(DataTypes.LongType, 12);
        byte[] left = agg.serialize((HllSketch) HLL[to]);
        byte[] right = agg.serialize((HllSketch) HLL[from]);
        Expression one = Literal.create(left, DataTypes.BinaryType);
        Expression other = Literal.create(right, DataTypes.BinaryType);
        HllUnion union = new HllUnion(one, other, Literal$.MODULE$.apply(true));
        out.println("union " + to + " " + from);
        HLL[to] = agg.deserialize((byte[]) union.eval(null));
        told(to);
    }

    private static void add(int place, int lgK) {
        HllSketch sketch = (HllSketch) HLL[place];
        int count = number();
        int from = RANDOM.nextInt(1 << 16) - 100;
        int kind = RANDOM.nextInt(4);
        String name = List.of("longs", "ints", "texts", "bytes").get(kind);
        List<DataType> types =
                List.of(DataTypes.LongType, DataTypes.IntegerType, DataTypes.StringType, DataTypes.BinaryType);
        DataType type = types.get(kind);
        HllSketchAgg agg = agg(type, lgK);
        out.println(name + " " + place + " " + from + " " + count);
        for (int value = from; value < from + count; value++) {
            sketch = agg.update(sketch, row(switch (kind) {
                case 0 -> (Object) (value * 3_000_000_007L);
                case 1 -> (Object) value;
                case 2 -> UTF8String.fromString(text(value));
                default -> text(value).getBytes(java.nio.charset.StandardCharsets.UTF_8);
            }));
            sketch = agg.update(sketch, row(null));
        }
        HLL[place] = sketch;
        told(place);
    }

    /** Texts of many lengths, also none. */
    private static String text(int value) {
        if (value % 13 == 0) {
            return "";
        }
        return ("ä" + value).repeat(1 + Math.floorMod(value, 5)).substring(Math.floorMod(value, 2));
    }

    private static void told(int place) {
        byte[] bytes = agg(DataTypes.LongType, 12).serialize((HllSketch) HLL[place]);
        told(bytes);
    }

    /** Not always: a union that was asked goes on with other sums. */
    private static void toldUnion(int place) {
        if (RANDOM.nextInt(3) == 0) {
            out.println("asked " + place);
            told(UNION.serialize(option(place)));
        }
    }

    private static void told(byte[] bytes) {
        Object estimate = new HllSketchEstimate(Literal.create(bytes, DataTypes.BinaryType)).eval(null);
        out.println("= " + bytes.length + " " + hash(bytes) + " " + estimate);
    }

    /** FNV-1a. */
    private static String hash(byte[] bytes) {
        long hash = 0xcbf29ce484222325L;
        for (byte one : bytes) {
            hash = (hash ^ (one & 0xff)) * 0x100000001b3L;
        }
        return Long.toHexString(hash);
    }

    /** Sketches of each size, looked at often while they grow. */
    private static void sizes() {
        for (int lgK = 4; lgK <= 21; lgK++) {
            HllSketchAgg agg = agg(DataTypes.LongType, lgK);
            HLL[0] = agg.createAggregationBuffer();
            out.println("new 0 " + lgK);
            long next = 0;
            for (int count = 1; next < 300_000; count = count * 3 / 2 + 1) {
                out.println("longs 0 " + next + " " + count);
                for (int value = 0; value < count; value++) {
                    HLL[0] = agg.update((HllSketch) HLL[0], row(next++ * 3_000_000_007L));
                }
                told(0);
                // One that has lost its order.
                out.println("new 1 " + lgK);
                HLL[1] = agg.createAggregationBuffer();
                out.println("merge 1 0");
                HLL[1] = agg.merge((HllSketch) HLL[1], agg.deserialize(agg.serialize((HllSketch) HLL[0])));
                out.println("merge 1 0");
                HLL[1] = agg.merge((HllSketch) HLL[1], agg.deserialize(agg.serialize((HllSketch) HLL[0])));
                told(1);
            }
        }
    }

    private static void countMin() {
        double[][] forms = {{0.5, 0.5}, {0.1, 0.9}, {0.01, 0.95}, {0.001, 0.99}, {1.7, 0.3}, {3, 0.875}};
        int[] seeds = {0, 1, -1, 42, Integer.MIN_VALUE, Integer.MAX_VALUE, 123456789};
        List<DataType> types = List.of(
                DataTypes.LongType,
                DataTypes.IntegerType,
                DataTypes.ShortType,
                DataTypes.ByteType,
                DataTypes.StringType,
                DataTypes.BinaryType);
        for (double[] form : forms) {
            for (int seed : seeds) {
                List<byte[]> all = new ArrayList<>();
                for (DataType type : types) {
                    CountMinSketchAgg agg = countMin(type, form[0], form[1], seed);
                    CountMinSketch sketch = agg.createAggregationBuffer();
                    out.println("counts " + sketch.depth() + " " + sketch.width() + " " + seed);
                    int kind = types.indexOf(type);
                    int from = RANDOM.nextInt(1 << 16) - 100;
                    int count = RANDOM.nextInt(600);
                    out.println("count " + kind + " " + from + " " + count);
                    for (int value = from; value < from + count; value++) {
                        sketch = agg.update(sketch, row(switch (kind) {
                            case 0 -> (Object) (value * 3_000_000_007L);
                            case 1 -> (Object) value;
                            case 2 -> (Object) (short) value;
                            case 3 -> (Object) (byte) value;
                            case 4 -> UTF8String.fromString(text(value));
                            default -> text(value).getBytes(java.nio.charset.StandardCharsets.UTF_8);
                        }));
                        sketch = agg.update(sketch, row(null));
                    }
                    out.println("= " + hash((byte[]) agg.eval(sketch)));
                    all.add(agg.serialize(sketch));
                    for (byte[] other : all) {
                        sketch = agg.merge(sketch, agg.deserialize(other));
                    }
                    out.println("all " + hash(agg.serialize(sketch)));
                }
            }
        }
    }

    private static CountMinSketchAgg countMin(DataType type, double eps, double confidence, int seed) {
        Expression error = Literal$.MODULE$.apply(eps);
        Expression sure = Literal$.MODULE$.apply(confidence);
        return new CountMinSketchAgg(column(type), error, sure, Literal$.MODULE$.apply(seed), 0, 0);
    }
}
