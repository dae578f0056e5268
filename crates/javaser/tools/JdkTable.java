import java.io.*;
import java.lang.reflect.*;
import java.net.URI;
import java.nio.file.*;
import java.util.*;

/**
 * Prints src/catalog/jdk.txt: every serializable class of java.base and java.sql, one a line:
 * NAME SUID-HEX STREAM-FLAGS SUPER-OR-DASH FIELD:SIGNATURE ... (an "n" behind the flags: the class is not public); serializable interfaces as "NAME i" or "NAME e" (Externalizable).
 * usage: java --add-opens java.base/java.io=ALL-UNNAMED tools/JdkTable.java > src/catalog/jdk.txt     (JDK 17)
 */
public class JdkTable {
  static boolean flag(ObjectStreamClass o, String name) throws Exception {
    Field f = ObjectStreamClass.class.getDeclaredField(name);
    f.setAccessible(true);
    return f.getBoolean(o);
  }

  public static void main(String[] args) throws Exception {
    FileSystem fs = FileSystems.getFileSystem(URI.create("jrt:/"));
    TreeMap<String, String> out = new TreeMap<>();
    for (String module : new String[] {"java.base", "java.sql"}) {
      Path root = fs.getPath("/modules/" + module);
      for (Path p : (Iterable<Path>) Files.walk(root.resolve("java"))::iterator) {
        String n = root.relativize(p).toString().replace('/', '.');
        if (!n.endsWith(".class")) continue;
        n = n.substring(0, n.length() - 6);
        Class<?> c = Class.forName(n, false, JdkTable.class.getClassLoader());
        if (!Serializable.class.isAssignableFrom(c)) continue;
        boolean external = Externalizable.class.isAssignableFrom(c);
        if (c.isInterface()) {
          out.put(n, n + (external ? " e" : " i"));
          continue;
        }
        ObjectStreamClass o = ObjectStreamClass.lookup(c);
        int flags = external ? 12 : flag(o, "isEnum") ? 18 : 2 | (flag(o, "hasWriteObjectData") ? 1 : 0);
        Class<?> s = c.getSuperclass();
        StringBuilder line = new StringBuilder(n + " " + Long.toHexString(o.getSerialVersionUID()) + " " + flags + (Modifier.isPublic(c.getModifiers()) ? "" : "n") + " ");
        line.append(s != null && Serializable.class.isAssignableFrom(s) ? s.getName() : "-");
        for (ObjectStreamField f : o.getFields())
          line.append(" " + f.getName() + ":" + (f.isPrimitive() ? "" + f.getTypeCode() : f.getTypeString()));
        out.put(n, line.toString());
      }
    }
    out.values().forEach(System.out::println);
  }
}
