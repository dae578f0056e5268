package org.firesteel.bridge;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A thread that takes events from one native queue. */
abstract class EventThread extends Thread {
  static final Logger log = LoggerFactory.getLogger(EventThread.class);

  private final int queue;

  EventThread(String name, int queue) {
    super(name);
    this.queue = queue;
    setDaemon(true);
  }

  abstract void handle(int kind, long id, byte[] payload) throws Exception;

  @Override
  public final void run() {
    long[] head = new long[2];
    while (true) {
      try {
        byte[] payload = Native.nextEvent(queue, head);
        handle((int) head[0], head[1], payload);
      } catch (VirtualMachineError e) {
        // Out of memory is for Spark's handler to judge (it ends the process with code 52), as on its own threads.
        UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
        if (handler == null) {
          log.error("Out of resources while handling a message", e);
        } else {
          handler.uncaughtException(this, e);
        }
      } catch (Throwable t) {
        log.error("Error while handling a message of the executor", t);
      }
    }
  }
}
