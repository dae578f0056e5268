package capture;

import java.io.*;
import java.lang.reflect.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.*;

/** Writes each task's description and its stage's binary where the system property "capture.dir" says. */
public class Capture implements SparkPlugin {
    public DriverPlugin driverPlugin() { return null; }
    public ExecutorPlugin executorPlugin() { return new OnExecutor(); }

    public static class OnExecutor implements ExecutorPlugin {
        private Object backend;
        @Override public void onTaskStart() {
            try {
                TaskContext context = TaskContext.get();
                if (backend == null) {
                    Object option = call(SparkEnv.get(), "executorBackend");
                    backend = call(option, "get");
                }
                Object executor = call(backend, "executor");
                Map<?, ?> running = (Map<?, ?>) call(executor, "runningTasks");
                Object runner = running.get(context.taskAttemptId());
                Object description = call(runner, "taskDescription");
                ByteBuffer task = ((ByteBuffer) call(description, "serializedTask")).duplicate();
                task.rewind();
                byte[] bytes = new byte[task.remaining()];
                task.get(bytes);
                Object object = call(runner, "task");
                Field field = null;
                for (Class<?> c = object.getClass(); c != null && field == null; c = c.getSuperclass())
                    for (Field f : c.getDeclaredFields()) if (f.getName().endsWith("taskBinary")) field = f;
                field.setAccessible(true);
                byte[] binary = (byte[]) call(field.get(object), "value");
                Path dir = Paths.get(System.getProperty("capture.dir"));
                String label = context.getLocalProperty("capture.name");
                // Spark gives some jobs descriptions of its own, with paths in them.
                if (label == null) label = context.getLocalProperty("spark.job.description");
                Path stage = dir.resolve(String.format("%s.%05d", label, context.stageId()));
                Files.createDirectories(stage);
                Path file = stage.resolve("binary");
                if (!Files.exists(file)) {
                    Files.write(file, binary);
                    Properties properties = (Properties) call(description, "properties");
                    StringBuilder text = new StringBuilder();
                    for (String name : new TreeSet<>(properties.stringPropertyNames()))
                        text.append(name).append('\t').append(properties.getProperty(name).replace('\n', ' ')).append('\n');
                    Files.write(stage.resolve("properties"), text.toString().getBytes("UTF-8"));
                }
                Files.write(stage.resolve(String.format("task-%05d", context.partitionId())), bytes);
            } catch (Throwable t) { t.printStackTrace(); }
        }
        /** A field of that name, or else what a method of that name gives. Fields first: looking at methods of some classes needs classes that are not there. */
        private static Object call(Object on, String name) throws Exception {
            for (Class<?> c = on.getClass(); c != null; c = c.getSuperclass())
                for (Field f : c.getDeclaredFields())
                    if (f.getName().equals(name)) { f.setAccessible(true); return f.get(on); }
            for (Class<?> c = on.getClass(); c != null; c = c.getSuperclass())
                for (Method m : c.getDeclaredMethods())
                    if (m.getName().equals(name) && m.getParameterCount() == 0) { m.setAccessible(true); return m.invoke(on); }
            throw new NoSuchMethodException(on.getClass() + "." + name);
        }
    }
}
