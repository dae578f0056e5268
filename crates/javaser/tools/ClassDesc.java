import java.io.*;
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import java.util.zip.*;

/**
 * Prints what java.io.ObjectStreamClass says of classes of one Spark distribution, as JSON.
 *
 * usage: java --add-opens java.base/java.io=ALL-UNNAMED -cp "JARS/*" ClassDesc.java JARS classdesc-seeds.txt
 *
 * Each line of the seeds is a class name, or "re:" and a regular expression that whole names of classes in the jars of
 * Spark and Scala match. Types of fields and superclasses are followed. `scripts/capture` runs it.
 */
public class ClassDesc {
  static final Set<String> done = new TreeSet<>();
  static final Deque<String> todo = new ArrayDeque<>();

  static Object get(ObjectStreamClass desc, String name) throws Exception {
    Field field = ObjectStreamClass.class.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(desc);
  }

  static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }

  static boolean hasPrivate(Class<?> c, String name, Class<?>... parameters) {
    try {
      Method method = c.getDeclaredMethod(name, parameters);
      return Modifier.isPrivate(method.getModifiers()) && method.getReturnType() == void.class;
    } catch (NoSuchMethodException none) {
      return false;
    }
  }

  static boolean declares(Class<?> c, String name, int modifiers) {
    try {
      return (c.getDeclaredField(name).getModifiers() & modifiers) == modifiers;
    } catch (NoSuchFieldException none) {
      return false;
    }
  }

  /** The classes that the seeds name and match. */
  static Set<String> seeds(String jars, String file) throws IOException {
    Set<String> names = new TreeSet<>();
    List<String> patterns = new ArrayList<>();
    for (String line : Files.readAllLines(Paths.get(file))) {
      line = line.trim();
      if (line.startsWith("re:")) patterns.add(line.substring(3));
      else if (!line.isEmpty() && !line.startsWith("#")) names.add(line);
    }
    Pattern wanted = Pattern.compile(String.join("|", patterns));
    for (File jar : new File(jars).listFiles()) {
      String name = jar.getName();
      if (!name.endsWith(".jar") || !(name.startsWith("spark-") || name.startsWith("scala-library"))) continue;
      try (ZipFile zip = new ZipFile(jar)) {
        for (ZipEntry entry : Collections.list(zip.entries())) {
          String path = entry.getName();
          if (!path.endsWith(".class") || path.contains("$anonfun$")) continue;
          String found = path.substring(0, path.length() - 6).replace('/', '.');
          if (wanted.matcher(found).matches()) names.add(found);
        }
      }
    }
    return names;
  }

  static List<String> traits(Class<?> c, ObjectStreamClass desc) throws Exception {
    boolean external = (Boolean) get(desc, "externalizable");
    List<String> all = new ArrayList<>();
    all.add(external ? "Externalizable" : "Serializable");
    if ((Boolean) get(desc, "isEnum")) all.add("enum");
    if (!external && hasPrivate(c, "writeObject", ObjectOutputStream.class)) all.add("writeObject");
    if (!external && hasPrivate(c, "readObject", ObjectInputStream.class)) all.add("readObject");
    if (get(desc, "writeReplaceMethod") != null) all.add("writeReplace");
    if (get(desc, "readResolveMethod") != null) all.add("readResolve");
    if (Modifier.isAbstract(c.getModifiers())) all.add("abstract");
    if (c.isRecord()) all.add("record");
    if (declares(c, "serialPersistentFields", 0)) all.add("serialPersistentFields");
    all.replaceAll(ClassDesc::quoted);
    return all;
  }

  static int streamFlags(ObjectStreamClass desc) throws Exception {
    if ((Boolean) get(desc, "isEnum")) return 2 | 16;
    if ((Boolean) get(desc, "externalizable")) return 4 | 8;
    return 2 | ((Boolean) get(desc, "hasWriteObjectData") ? 1 : 0);
  }

  static List<String> fields(ObjectStreamClass desc) {
    List<String> all = new ArrayList<>();
    for (ObjectStreamField field : desc.getFields()) {
      String type = field.isPrimitive() ? "" + field.getTypeCode() : field.getTypeString();
      all.add("{\"name\":" + quoted(field.getName()) + ",\"type\":" + quoted(type) + "}");
      Class<?> followed = field.getType();
      while (followed.isArray()) followed = followed.getComponentType();
      if (!followed.isPrimitive()) todo.add(followed.getName());
    }
    return all;
  }

  static List<String> supers(Class<?> c) {
    List<String> all = new ArrayList<>();
    for (Class<?> k = c.getSuperclass(); k != null; k = k.getSuperclass()) {
      boolean serializable = Serializable.class.isAssignableFrom(k);
      all.add("{\"name\":" + quoted(k.getName()) + ",\"serializable\":" + serializable + "}");
      if (serializable) todo.add(k.getName());
    }
    return all;
  }

  static String describe(Class<?> c, ObjectStreamClass desc) throws Exception {
    long suid = desc.getSerialVersionUID();
    return "{\"name\":" + quoted(c.getName())
        + ",\"serialVersionUID\":" + quoted(Long.toString(suid))
        + ",\"suidHex\":" + quoted(String.format("%016x", suid))
        + ",\"suidDeclared\":" + declares(c, "serialVersionUID", Modifier.STATIC | Modifier.FINAL)
        + ",\"streamFlags\":" + streamFlags(desc)
        + ",\"flags\":[" + String.join(",", traits(c, desc))
        + "],\"fields\":[" + String.join(",", fields(desc))
        + "],\"supers\":[" + String.join(",", supers(c)) + "]}";
  }

  public static void main(String[] args) throws Exception {
    todo.addAll(seeds(args[0], args[1]));
    TreeMap<String, String> found = new TreeMap<>();
    while (!todo.isEmpty()) {
      String name = todo.poll();
      if (!done.add(name)) continue;
      try {
        // Some seeds are classes that only other versions have.
        Class<?> c = Class.forName(name, false, ClassDesc.class.getClassLoader());
        ObjectStreamClass desc = c.isInterface() || c.isPrimitive() ? null : ObjectStreamClass.lookup(c);
        if (desc != null) found.put(c.getName(), describe(c, desc));
      } catch (ClassNotFoundException | LinkageError absent) {
        System.err.println("left out: " + absent);
      }
    }
    System.out.println("[\n" + String.join(",\n", found.values()) + "\n]");
  }
}
