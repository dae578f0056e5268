import java.io.*;
import java.util.*;
import scala.collection.mutable.Buffer;

/**
 * Reads streams that the tests wrote, and writes each object again; then writes collections of its own.
 * usage: java -cp JARS/* RoundTrip.java IN OUT     both files: count, then length and bytes of each stream
 */
public class RoundTrip {
  static byte[] write(Object o) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(o);
    }
    return bytes.toByteArray();
  }

  @SuppressWarnings({"unchecked", "deprecation"})
  public static void main(String[] args) throws Exception {
    List<byte[]> written = new ArrayList<>();
    try (DataInputStream in = new DataInputStream(new FileInputStream(args[0]))) {
      int count = in.readInt();
      for (int i = 0; i < count; i++) {
        byte[] stream = in.readNBytes(in.readInt());
        try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(stream))) {
          written.add(write(objects.readObject()));
          if (objects.read() != -1) throw new IOException("bytes behind object " + i);
        }
      }
    }
    for (int size : new int[] {0, 1, 4, 5, 33, 1100}) {
      List<Object> list = new ArrayList<>();
      for (long i = 0; i < size; i++) list.add(i);
      Buffer<Object> buffer = scala.collection.JavaConverters.asScalaBuffer(list);
      scala.collection.mutable.ListBuffer<Object> listBuffer = new scala.collection.mutable.ListBuffer<>();
      scala.collection.mutable.ArrayBuffer<Object> arrayBuffer = new scala.collection.mutable.ArrayBuffer<>();
      scala.collection.mutable.HashSet<Object> mutableSet = new scala.collection.mutable.HashSet<>();
      for (Object o : list) {
        listBuffer.$plus$eq(o);
        arrayBuffer.$plus$eq(o);
        mutableSet.$plus$eq(o);
      }
      List<Object> java = new ArrayList<>(List.of(
          buffer.toList(), buffer.toVector(), buffer.toSet(), listBuffer, arrayBuffer, mutableSet,
          list, new LinkedList<>(list), new TreeSet<>(list), new HashSet<>(list), new LinkedHashSet<>(list),
          list.toArray(), List.copyOf(list), Set.copyOf(list), Collections.unmodifiableList(list),
          Collections.synchronizedList(list), Arrays.asList(list.toArray()),
          new java.util.concurrent.CopyOnWriteArrayList<>(list)));
      for (Object o : java) written.add(write(o));
      Map<String, Object> map = new LinkedHashMap<>();
      for (Object o : list) map.put(o.toString(), o);
      Properties properties = new Properties();
      properties.putAll(map);
      scala.collection.mutable.HashMap<Object, Object> mutableMap = new scala.collection.mutable.HashMap<>();
      scala.collection.mutable.LinkedHashMap<Object, Object> linkedMap = new scala.collection.mutable.LinkedHashMap<>();
      for (Map.Entry<String, Object> e : map.entrySet()) {
        mutableMap.put(e.getKey(), e.getValue());
        linkedMap.put(e.getKey(), e.getValue());
      }
      Object immutableMap = scala.collection.immutable.Map$.MODULE$.empty();
      for (Map.Entry<String, Object> e : map.entrySet())
        immutableMap = ((scala.collection.immutable.Map<Object, Object>) immutableMap).updated(e.getKey(), e.getValue());
      for (Object o : List.of(
          map, new HashMap<>(map), new TreeMap<>(map), new Hashtable<>(map), properties, Map.copyOf(map),
          new java.util.concurrent.ConcurrentHashMap<>(map), Collections.unmodifiableMap(map),
          Collections.synchronizedMap(map), immutableMap, mutableMap, linkedMap)) written.add(write(o));
    }
    try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(args[1])))) {
      out.writeInt(written.size());
      for (byte[] stream : written) {
        out.writeInt(stream.length);
        out.write(stream);
      }
    }
  }
}
