import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Map;

/**
 * Writes, with the classes of one Spark distribution, objects that are rare in captured traffic: one line of JSON each, with a name and
 * the bytes that Java serialization (or TaskDescription.encode) gives.
 *
 * java -cp "DISTRIBUTION/jars/*" WireVectors.java VERSION > tests/fixtures/wire/VERSION.jsonl
 */
public class WireVectors {
    static final String CLUSTER = "org.apache.spark.scheduler.cluster.CoarseGrainedClusterMessages$";
    static final String BLOCKS = "org.apache.spark.storage.BlockManagerMessages$";
    static final String STORAGE = "org.apache.spark.storage.";
    static boolean spark4;
    static boolean spark43;

    public static void main(String[] args) throws Exception {
        spark4 = !args[0].startsWith("3.");
        spark43 = args[0].compareTo("4.3") >= 0;
        Object rdd = n(STORAGE + "RDDBlockId", 3, 4);
        Object location = bmId("7", "host-7", 7077, Option.empty());
        Object placed = bmId("8", "h\u00e4st", 7078, Option.apply("/rack"));

        emit("GetBlockStatus", n(BLOCKS + "GetBlockStatus", rdd, true));
        emit("ReplicateBlock", n(BLOCKS + "ReplicateBlock", rdd, list(location, placed), 2));
        emit("MarkRDDBlockAsVisible", n(BLOCKS + "MarkRDDBlockAsVisible", rdd));
        emit("TriggerHeapHistogram", module(BLOCKS + "TriggerHeapHistogram$"));
        emit("TriggerThreadDump", module(BLOCKS + "TriggerThreadDump$"));
        emit("UpdateDelegationTokens", n(CLUSTER + "UpdateDelegationTokens", (Object) new byte[] {1, 2, -1}));
        emit("DecommissionExecutor", module(CLUSTER + "DecommissionExecutor$"));
        emit("StopExecutor", module(CLUSTER + "StopExecutor$"));
        emit("ExecutorDecommissioning", n(CLUSTER + "ExecutorDecommissioning", "7"));
        emit("KillTask", n(CLUSTER + "KillTask", 77L, "7", true, "another attempt succeeded"));
        emit("GenerateExecID", n("org.apache.spark.scheduler.cluster.k8s.GenerateExecID", "pod-7"));
        emit("RemoveExecutor", n(CLUSTER + "RemoveExecutor", "7", n("org.apache.spark.scheduler.ExecutorLossReason", "bye")));
        emit("RemoveExecutor/ExecutorExited", n(CLUSTER + "RemoveExecutor", "7",
            n("org.apache.spark.scheduler.ExecutorExited", 52, true, "out of memory")));
        emit("CheckExistence", n("org.apache.spark.rpc.netty.RpcEndpointVerifier$CheckExistence", "Executor"));
        if (spark4) {
            emit("TaskThreadDump", n(CLUSTER + "TaskThreadDump", 77L));
            emit("UpdateExecutorLogLevel", n(CLUSTER + "UpdateExecutorLogLevel", "DEBUG"));
        }
        blockIds();
        updates(location, placed);
        configs();
        tasks();
        failures();
        mapStatuses(location, placed);
        replies(rdd);
    }

    static void blockIds() throws Exception {
        List<Object> ids = new ArrayList<>(List.of(
            n(STORAGE + "RDDBlockId", 3, 4), n(STORAGE + "ShuffleBlockId", 1, 2L, 3), n(STORAGE + "ShuffleBlockBatchId", 1, 2L, 3, 4),
            n(STORAGE + "ShuffleBlockChunkId", 1, 2, 3, 4), n(STORAGE + "ShuffleDataBlockId", 1, 2L, 3), n(STORAGE + "ShuffleIndexBlockId", 1, 2L, 3),
            n(STORAGE + "ShuffleChecksumBlockId", 1, 2L, 3), n(STORAGE + "ShufflePushBlockId", 1, 2, 3, 4), n(STORAGE + "ShuffleMergedBlockId", 1, 2, 3),
            n(STORAGE + "ShuffleMergedDataBlockId", "app_1", 2, 3, 4), n(STORAGE + "ShuffleMergedIndexBlockId", "app_1", 2, 3, 4),
            n(STORAGE + "ShuffleMergedMetaBlockId", "app_1", 2, 3, 4), n(STORAGE + "BroadcastBlockId", 9L, ""), n(STORAGE + "BroadcastBlockId", 9L, "piece0"),
            n(STORAGE + "TaskResultBlockId", 77L), n(STORAGE + "StreamBlockId", 1, 2L), n(STORAGE + "TempLocalBlockId", new UUID(-1, 2)),
            n(STORAGE + "TempShuffleBlockId", new UUID(1, -2)), n(STORAGE + "TestBlockId", "x")));
        if (spark4) ids.add(n(STORAGE + "PythonStreamBlockId", 1, 2L));
        for (String later : new String[] {"PythonWorkerLogBlockId", "TestLogBlockId"}) {
            if (exists(STORAGE + later)) ids.add(later.startsWith("P") ? n(STORAGE + later, 5L, "0", "session", "worker") : n(STORAGE + later, 5L, "0"));
        }
        for (Object id : ids) {
            Method name = id.getClass().getMethod("name");
            emit("RemoveBlock/" + name.invoke(id), n(BLOCKS + "RemoveBlock", id));
        }
    }

    static void updates(Object location, Object placed) throws Exception {
        Object level = n(STORAGE + "StorageLevel", true, true, false, true, 1);
        Object block = n(STORAGE + "RDDBlockId", 3, 4);
        if (spark43) {
            emit("UpdateBlockInfo", n(BLOCKS + "UpdateBlockInfo", location, block, level, 5L, 6L, Option.empty()));
            emit("UpdateBlockInfo/checksum", n(BLOCKS + "UpdateBlockInfo", placed, block, level, 5L, 6L, Option.apply((Object) 99L)));
        } else {
            emit("UpdateBlockInfo", n(BLOCKS + "UpdateBlockInfo", location, block, level, 5L, 6L));
        }
        emit("BlockManagerId", placed);
        emit("StorageLevel", level);
        Class<?> metrics = Class.forName("org.apache.spark.executor.ExecutorMetrics");
        scala.collection.mutable.HashMap<Object, Object> peaks = new scala.collection.mutable.HashMap<>();
        emit("Heartbeat/empty", n("org.apache.spark.Heartbeat", "7", new Tuple2<?, ?>[0], location, peaks));
        long[] values = new long[spark4 ? 23 : 21];
        for (int i = 0; i < values.length; i++) values[i] = i * 1000L;
        Constructor<?> ofLongs = metrics.getDeclaredConstructor(long[].class);
        ofLongs.setAccessible(true);
        peaks.put(tuple(2, 0), ofLongs.newInstance(values));
        emit("Heartbeat/peaks", n("org.apache.spark.Heartbeat", "7", new Tuple2<?, ?>[0], location, peaks));
    }

    static Object tuple(int a, int b) throws Exception {
        return n("scala.Tuple2$mcII$sp", a, b);
    }

    static void configs() throws Exception {
        Object ep = profile(false);
        Tuple2<?, ?>[] settings = {new Tuple2<>("spark.app.name", "caf\u00e9"), new Tuple2<>("spark.executor.cores", "2")};
        Object[] options = {Option.apply((Object) new byte[] {1, 2, 3}), Option.apply((Object) new byte[] {4, 5})};
        for (boolean taskOnly : new boolean[] {false, true}) {
            Object seq = module("scala.Predef$");
            String wrap = "wrapRefArray";
            Object wrapped = call(seq, wrap, (Object) settings);
            Object profile = profile(taskOnly);
            Object config = spark4
                ? n(CLUSTER + "SparkAppConfig", wrapped4(settings), options[0], options[1], profile, Option.apply((Object) "WARN"))
                : n(CLUSTER + "SparkAppConfig", wrapped, options[0], options[1], profile);
            emit(taskOnly ? "SparkAppConfig/TaskResourceProfile" : "SparkAppConfig", config);
        }
    }

    static Object wrapped4(Object[] elements) throws Exception {
        return n("scala.collection.immutable.ArraySeq$ofRef", (Object) elements);
    }

    static Object profile(boolean taskOnly) throws Exception {
        Object cores = n("org.apache.spark.resource.ExecutorResourceRequest", "cores", 3L, "", "");
        Object gpus = n("org.apache.spark.resource.ExecutorResourceRequest", "gpu", 2L, "find.sh", "nvidia");
        Object cpus = n("org.apache.spark.resource.TaskResourceRequest", "cpus", 1.0);
        Object gpu = n("org.apache.spark.resource.TaskResourceRequest", "gpu", 0.5);
        Map<Object, Object> task = map("cpus", cpus, "gpu", gpu);
        return taskOnly ? n("org.apache.spark.resource.TaskResourceProfile", task)
            : n("org.apache.spark.resource.ResourceProfile", map("cores", cores, "gpu", gpus), task);
    }

    static void tasks() throws Exception {
        Object information = n("org.apache.spark.resource.ResourceInformation", "gpu", new String[] {"0", "1"});
        Object state = module("org.apache.spark.TaskState$");
        Object running = call(state, "RUNNING");
        Object resources = spark4 ? map("gpu", map("0", (Object) 10000000000000000L, "1", (Object) 5000000000000000L)) : map("gpu", information);
        Object cpus = spark43 ? call(module("org.apache.spark.resource.CpuAmount$"), "normalize", new scala.math.BigDecimal(new java.math.BigDecimal("1.5"))) : (Object) 2;
        ByteBuffer data = ByteBuffer.wrap(new byte[] {9, 8, 7});
        Object buffer = n("org.apache.spark.util.SerializableBuffer", data);
        emit("StatusUpdate/resources", n(CLUSTER + "StatusUpdate", "7", 77L, running, buffer, cpus, resources));
        byte[] large = new byte[3000];
        for (int i = 0; i < large.length; i++) large[i] = (byte) i;
        emit("LaunchTask", n(CLUSTER + "LaunchTask", n("org.apache.spark.util.SerializableBuffer", ByteBuffer.wrap(large))));

        Object artifacts = n("org.apache.spark.JobArtifactSet", Option.apply(n("org.apache.spark.JobArtifactState", "uuid-1", Option.apply("spark://h:1/classes"))),
            map("spark://h:1/jars/a.jar", (Object) 5L), map("f", (Object) 6L), map("z", (Object) 7L));
        Properties properties = new Properties();
        properties.setProperty("k\u00e9y", "v\u00e4lue \ud83d\ude00");
        Object description = n("org.apache.spark.scheduler.TaskDescription", 77L, 1, "7", "task 1.1 in stage 2.0 (TID 77)", 1, 3, artifacts, properties, cpus, resources,
            ByteBuffer.wrap(new byte[] {1, 2, 3}));
        ByteBuffer bytes = (ByteBuffer) call(module("org.apache.spark.scheduler.TaskDescription$"), "encode", description);
        byte[] encoded = new byte[bytes.remaining()];
        bytes.get(encoded);
        line("TaskDescription", encoded);

        Object gpus = map("gpu", information);
        Map<Object, Object> urls = map("stdout", "http://h/out", "stderr", "http://h/err");
        emit("RegisterExecutor", n(CLUSTER + "RegisterExecutor", "7", ref("Executor"), "host-7", 4, urls, map("A", "1", "B", "2", "C", "3", "D", "4"), gpus, 0));
        emit("RegisterBlockManager", n(BLOCKS + "RegisterBlockManager", bmId("7", "host-7", 7077, Option.empty()), new String[] {"/a", "/b"}, 100L, 200L,
            ref("BlockManagerEndpoint1"), true));
    }

    static Object ref(String name) throws Exception {
        Object conf = n("org.apache.spark.SparkConf", false);
        return n("org.apache.spark.rpc.netty.NettyRpcEndpointRef", conf, n("org.apache.spark.rpc.RpcEndpointAddress", null, name), null);
    }

    static void failures() throws Exception {
        StackTraceElement[] calls = {
            new StackTraceElement("a.B", "c", "B.rs", 12), new StackTraceElement("a.C", "d", null, -2), new StackTraceElement("a.D", "e", null, -1)};
        Object nil = list();
        emit("ExceptionFailure", n("org.apache.spark.ExceptionFailure", "a.Error", "it broke", calls, "a.Error: it broke\n\tat a.B.c(B.rs:12)", Option.empty(), nil, nil, nil));
        emit("AskPermissionToCommitOutput", n("org.apache.spark.scheduler.AskPermissionToCommitOutput", 3, 0, 7, 1));
        emit("TaskCommitDenied", n("org.apache.spark.TaskCommitDenied", 3, 7, 1));
        emit("TaskKilled", n("org.apache.spark.TaskKilled", "cancelled", nil, nil, nil));
        Throwable error = new IllegalStateException("no such block");
        error.setStackTrace(calls);
        emit("RpcFailure", n("org.apache.spark.rpc.netty.RpcFailure", error));
        Throwable caused = new RuntimeException("outer", error);
        caused.setStackTrace(new StackTraceElement[0]);
        emit("RpcFailure/cause", n("org.apache.spark.rpc.netty.RpcFailure", caused));
    }

    static void mapStatuses(Object location, Object placed) throws Exception {
        boolean checksum = exists("org.apache.spark.shuffle.checksum.RowBasedChecksum");
        Object factory = module("org.apache.spark.scheduler.MapStatus$");
        long[] few = {0, 1, 2, 1000, 1_000_000, Long.MAX_VALUE};
        long[] many = new long[2500];
        for (int i = 0; i < many.length; i++) many[i] = i % 10 == 0 ? 0 : i == 77 ? 10_000_000_000L : 1000 + i;
        for (long[] sizes : new long[][] {few, many}) {
            Object status = checksum ? call(factory, "apply", location, sizes, 5L, 1234567890123L) : call(factory, "apply", location, sizes, 5L);
            emit(status.getClass().getSimpleName(), status);
        }
        Class<?> bitmapClass = Class.forName("org.roaringbitmap.RoaringBitmap");
        Object bitmap = bitmapClass.getConstructor().newInstance();
        for (int i : new int[] {0, 1, 2, 5, 70000}) bitmapClass.getMethod("add", int.class).invoke(bitmap, i);
        emit("MergeStatus", n("org.apache.spark.scheduler.MergeStatus", placed, 2, bitmap, 1L << 40));
    }

    static void replies(Object rdd) throws Exception {
        emit("reply/Boolean", true);
        emit("reply/Integer", 0);
        emit("reply/String", "7");
        emit("reply/None", Option.empty());
        emit("reply/Unit", scala.runtime.BoxedUnit.UNIT);
        emit("reply/Nil", list());
        emit("reply/ThreadStackTrace[]", java.lang.reflect.Array.newInstance(Class.forName(
            exists("org.apache.spark.status.api.v1.ThreadStackTrace") ? "org.apache.spark.status.api.v1.ThreadStackTrace" : "org.apache.spark.util.ThreadStackTrace"), 0));
        Object stack = n("org.apache.spark.status.api.v1.StackTrace", list("a.B.c(D.java:1)", "e.F.g(H.java:2)"));
        Object some = Option.apply("a lock");
        Class<?> thread = Class.forName("org.apache.spark.status.api.v1.ThreadStackTrace");
        boolean locks = thread.getDeclaredConstructors()[0].getParameterCount() > 7;
        Object threads = java.lang.reflect.Array.newInstance(thread, 1);
        Object blocked = locks
            ? n(thread.getName(), 7L, "a thread", Thread.State.TIMED_WAITING, stack, Option.apply(8L), "a lock", list("one"), list("two"), list("three"), some, Option.apply("other"), true, true, true, 5)
            : n(thread.getName(), 7L, "a thread", Thread.State.TIMED_WAITING, stack, Option.apply(8L), "a lock", list("one"));
        java.lang.reflect.Array.set(threads, 0, blocked);
        emit("reply/ThreadStackTrace[1]", threads);
        emit("reply/String[]", new String[0]);
        emit("reply/HeartbeatResponse", n("org.apache.spark.HeartbeatResponse", true));
        emit("reply/Some(BlockStatus)", Option.apply(n(STORAGE + "BlockStatus", n(STORAGE + "StorageLevel", false, true, false, false, 2), 5L, 6L)));
    }

    static Object bmId(String id, String host, int port, Option<?> topology) throws Exception {
        return call(module(STORAGE + "BlockManagerId$"), "apply", id, host, port, topology);
    }

    static Map<Object, Object> map(Object... keysAndValues) {
        @SuppressWarnings("unchecked")
        Map<Object, Object> map = (Map<Object, Object>) (Map<?, ?>) scala.collection.immutable.Map$.MODULE$.empty();
        for (int i = 0; i < keysAndValues.length; i += 2) map = (Map<Object, Object>) map.$plus(new Tuple2<>(own(keysAndValues[i]), own(keysAndValues[i + 1])));
        return map;
    }

    /** A string of its own: the same literal twice is one object in Java, and one in the stream. */
    static Object own(Object value) {
        return value instanceof String ? new String((String) value) : value;
    }

    static Object list(Object... elements) {
        scala.collection.immutable.List<Object> list = (scala.collection.immutable.List<Object>) (Object) scala.collection.immutable.Nil$.MODULE$;
        for (int i = elements.length - 1; i >= 0; i--) list = new scala.collection.immutable.$colon$colon<>(elements[i], list);
        return list;
    }

    static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    static Object module(String name) throws Exception {
        Field field = Class.forName(name).getField("MODULE$");
        return field.get(null);
    }

    /** Calls the constructor that takes these arguments. */
    static Object n(String name, Object... args) throws Exception {
        for (Constructor<?> c : Class.forName(name).getDeclaredConstructors()) {
            if (!fits(c.getParameterTypes(), args)) continue;
            c.setAccessible(true);
            return c.newInstance(args);
        }
        throw new IllegalArgumentException("no constructor of " + name + " takes " + Arrays.toString(args));
    }

    static Object call(Object target, String name, Object... args) throws Exception {
        for (Method m : target.getClass().getMethods()) {
            if (!m.getName().equals(name) || !fits(m.getParameterTypes(), args)) continue;
            m.setAccessible(true);
            try {
                return m.invoke(target, args);
            } catch (InvocationTargetException e) {
                throw new IllegalStateException(name, e.getCause());
            }
        }
        throw new IllegalArgumentException("no method " + name + " of " + target.getClass() + " takes " + Arrays.toString(args));
    }

    static boolean fits(Class<?>[] types, Object[] args) {
        if (types.length != args.length) return false;
        for (int i = 0; i < types.length; i++) {
            Class<?> t = types[i];
            Object a = args[i];
            boolean ok = t.isPrimitive()
                ? (t == int.class && a instanceof Integer) || (t == long.class && a instanceof Long) || (t == boolean.class && a instanceof Boolean) || (t == double.class && a instanceof Double)
                : a == null || t.isInstance(a);
            if (!ok) return false;
        }
        return true;
    }

    static void emit(String name, Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        line(name, bytes.toByteArray());
    }

    static void line(String name, byte[] bytes) {
        System.out.println("{\"name\": \"" + name + "\", \"hex\": \"" + HexFormat.of().formatHex(bytes) + "\"}");
    }
}
