package org.firesteel.bridge;

import java.nio.ByteBuffer;

/** What the executor offers to this JVM. Bound by the process that created the JVM; usable nowhere else. */
public final class Native {
  private Native() {}

  /** Queue of {@link #nextEvent}: messages, in the driver's order. */
  static final int MESSAGES = 0;
  /** Queue of {@link #nextEvent}: reading and storing blocks, in any order. */
  static final int BLOCKS = 1;

  /** Binds the native methods of {@code org.firesteel.NativeCalls}, a class of the job's own jars. */
  public static native void bindFunctions(Class<?> calls);

  /** The backend's class name, then the arguments of its main method. */
  static native String[] arguments();

  /** Block directories that the disk block manager has to use. */
  static native String[] localDirs();

  /** The driver's answer to RetrieveSparkAppConfig. */
  public static native byte[] appConfig();

  /** The backend's endpoint is registered. */
  static native void started();

  /** The JVM begins to end: its hooks run, and whoever asked for it may not wait for the last of them. */
  static native void shuttingDown();

  /** The backend cannot be started. */
  static native void failed(String stackTrace);

  /** Waits for the next event: kind and id go to {@code head}, its bytes are the result. */
  static native byte[] nextEvent(int queue, long[] head);

  /** Sends an envelope to the driver. */
  public static native void tell(byte[] envelope, int offset, int length);

  /** Sends an envelope to the driver; the answer is an event with this id. */
  public static native void ask(long id, byte[] envelope, int offset, int length);

  static native void reply(long id, byte[] body, int offset, int length);

  static native void replyFailure(long id, String stackTrace);

  /** Starts a block whose bytes follow in pieces. */
  static native void blockBegin(long id, long size);

  static native void blockAppend(long id, byte[] piece, int offset, int length);

  static native void blockAppendDirect(long id, ByteBuffer piece, int offset, int length);

  static native void blockEnd(long id);

  /** The block is a part of a file; opened before this returns. */
  static native void blockFile(long id, String path, long offset, long length);

  static native void blockMissing(long id, String stackTrace);

  static native void uploaded(long id, byte[] body, int offset, int length);

  static native void uploadFailed(long id, String stackTrace);

  /** Opens a file of the driver's file server. */
  public static native long openStream(String uri);

  /** Reads at most {@code length} bytes; -1 at the end. */
  public static native int readStream(long handle, byte[] target, int offset, int length);

  public static native int readStreamDirect(long handle, ByteBuffer target, int offset, int length);

  public static native void closeStream(long handle);

  /** Waits for what an evaluator has to do; null if there is no more. */
  static native byte[] nextRows(long id);

  static native void rowsDone(long id, byte[] rows, int offset, int length);

  static native void rowsFailed(long id, String stackTrace);

  /** An evaluator's task has ended, or could not begin: what went wrong, or null. */
  static native void evaluatorEnded(long id, String failure);
}
