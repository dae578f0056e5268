package org.firesteel.bridge;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.storage.DiskBlockManager;

/** Makes a disk block manager work in the executor's directories, so that both sides see the same files. */
public final class LocalDirs {
  private LocalDirs() {}

  /** To be called before any block is written. */
  public static void adopt(DiskBlockManager manager) throws ReflectiveOperationException, IOException {
    File[] own = manager.localDirs();
    String[] names = Native.localDirs();
    if (names.length == 0) {
      throw new IllegalStateException("The executor has no local directories");
    }
    File[] dirs = Arrays.stream(names).map(File::new).toArray(File[]::new);
    int subDirs = ((File[][]) Reflect.get(manager, "subDirs"))[0].length;
    File[][] cache = new File[dirs.length][subDirs];
    Reflect.set(manager, "subDirs", cache);
    Reflect.set(manager, "localDirsString", names);
    Reflect.set(manager, "localDirs", dirs);
    Set<File> keep = new HashSet<>(Arrays.asList(dirs));
    for (File dir : own) {
      if (!keep.contains(dir)) {
        delete(dir.toPath());
      }
    }
  }

  private static void delete(Path dir) throws IOException {
    Files.walkFileTree(dir, new SimpleFileVisitor<Path>() {
      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
        Files.delete(file);
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult postVisitDirectory(Path visited, IOException e) throws IOException {
        if (e != null) {
          throw e;
        }
        Files.delete(visited);
        return FileVisitResult.CONTINUE;
      }
    });
  }
}
