package org.firesteel.bridge;

/** Kinds of events; the numbers are known to the native side. */
final class Events {
  private Events() {}

  static final int RPC_REQUEST = 1;
  static final int ONE_WAY = 2;
  static final int ASK_REPLY = 3;
  static final int ASK_FAILURE = 4;
  static final int DISCONNECTED = 5;
  static final int EXIT = 6;
  static final int GET_BLOCK = 7;
  static final int UPLOAD = 8;
  static final int UPLOAD_STREAM = 9;
  static final int STARTED = 10;
  static final int START_EVALUATOR = 11;
  static final int KILL_EVALUATOR = 12;
}
