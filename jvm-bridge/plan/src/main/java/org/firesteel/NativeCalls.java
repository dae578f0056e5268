package org.firesteel;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.net.URISyntaxException;
import org.apache.spark.SparkEnv;

/** Calls into native code: {@code src/lanes/jvm/functions.rs}. */
final class NativeCalls {
  private static NativeCalls ready;

  private NativeCalls() {}

  /**
   * Binds a function for a task: path, name and version of its library, its name, the time zone; its signature, the
   * session's mode, and which task it is. Gives a number that is not 0.
   */
  native long bind(String[] texts, long[] numbers);

  /** The result for the bytes of an {@code UnsafeRow}, as such a row of one column; null if it is null. */
  native byte[] call(long number, byte[] row);

  native void unbind(long number);

  /** The one of this JVM. */
  static synchronized NativeCalls get() {
    if (ready == null) {
      if (!isWithinFiresteel()) {
        load(host());
      }
      ready = new NativeCalls();
    }
    return ready;
  }

  /** Whether this is the JVM of an executor of Firesteel, which has bound the methods then. */
  private static boolean isWithinFiresteel() {
    try {
      Class<?> bridge = Class.forName("org.firesteel.bridge.Native", true, ClassLoader.getSystemClassLoader());
      bridge.getMethod("bindFunctions", Class.class).invoke(null, NativeCalls.class);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(e.getCause().getMessage(), e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the executor and this jar are of different versions of Firesteel", e);
    }
  }

  private static void load(File host) {
    if (!host.isFile()) {
      throw new IllegalStateException(host + " is not there: set " + NativeFunctions.HOST
          + " to the path of Firesteel's lib/libfiresteel.so, or FIRESTEEL_HOME in the environment");
    }
    try {
      System.load(host.getAbsolutePath());
    } catch (LinkageError e) {
      throw new IllegalStateException(host + " cannot be loaded: " + e.getMessage(), e);
    }
  }

  private static File host() {
    String named = SparkEnv.get().conf().get(NativeFunctions.HOST, "");
    String home = System.getenv("FIRESTEEL_HOME");
    File installed = installed();
    if (!named.isEmpty()) {
      return new File(named);
    }
    if (home != null) {
      return new File(home, "lib/libfiresteel.so");
    }
    if (installed != null) {
      return installed;
    }
    throw new IllegalStateException("a native function is called on this machine, by the driver or a plain executor, "
        + "which takes Firesteel's library: set " + NativeFunctions.HOST + " to the path of its lib/libfiresteel.so, "
        + "or FIRESTEEL_HOME in the environment. Drivers call functions of constants and of local relations only, and not "
        + "with spark.sql.optimizer.excludedRules=org.apache.spark.sql.catalyst.optimizer.ConstantFolding,"
        + "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation");
  }

  /** The library beside the jar, where that runs from where it was installed; else null. */
  private static File installed() {
    try {
      File jar = new File(NativeCalls.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      File library = new File(jar.getParentFile().getParentFile(), "lib/libfiresteel.so");
      return library.isFile() ? library : null;
    } catch (URISyntaxException | RuntimeException e) {
      return null;
    }
  }
}
