package org.firesteel.bridge;

import java.lang.reflect.Field;

/** Reaches the few fields of Spark that have no accessor. */
public final class Reflect {
  private Reflect() {}

  public static Object get(Object object, String name) throws ReflectiveOperationException {
    return field(object.getClass(), name).get(object);
  }

  public static void set(Object object, String name, Object value) throws ReflectiveOperationException {
    field(object.getClass(), name).set(object, value);
  }

  /** What is of this type, though Java cannot say so. */
  @SuppressWarnings("unchecked")
  static <T> T cast(Object object) {
    return (T) object;
  }

  private static Field field(Class<?> start, String name) throws NoSuchFieldException {
    for (Class<?> c = start; c != null; c = c.getSuperclass()) {
      for (Field field : c.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field;
        }
      }
    }
    throw new NoSuchFieldException(start.getName() + "." + name + ": this Spark version is not supported");
  }
}
