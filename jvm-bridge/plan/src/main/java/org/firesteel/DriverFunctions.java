package org.firesteel;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Closes what was bound outside of tasks when the expression is gone that called it: nobody says when it is over. */
final class DriverFunctions {
  private static final ReferenceQueue<NativeScalar> GONE = new ReferenceQueue<>();
  private static final Set<Left> LEFT = ConcurrentHashMap.newKeySet();

  private DriverFunctions() {}

  private static final class Left extends PhantomReference<NativeScalar> {
    private final BoundFunction bound;

    Left(NativeScalar function, BoundFunction bound) {
      super(function, GONE);
      this.bound = bound;
    }
  }

  static void closeWith(NativeScalar function, BoundFunction bound) {
    LEFT.add(new Left(function, bound));
    for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
      LEFT.remove(gone);
      ((Left) gone).bound.close();
    }
  }
}
