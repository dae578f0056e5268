import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;

/**
 * Functions of real numbers of Java: the bits of so many results of each, of arguments that src/expr/fdlibm/tests.rs
 * draws as well.
 */
public final class Reals {
    private static final DoubleUnaryOperator[] OF_ONE = {
        StrictMath::exp, StrictMath::expm1, StrictMath::log, StrictMath::log1p, StrictMath::log10, Math::acos,
        Math::asin, Math::atan, Math::cbrt, Math::cosh, Math::sinh, Math::tanh, Math::toDegrees, Math::toRadians,
    };

    private static final DoubleBinaryOperator[] OF_TWO = {StrictMath::pow, Math::atan2, Math::hypot};

    /** Bounds within the functions, and what is odd. */
    private static final double[] ODD = {
        0.0, -0.0, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 10,
        1e308, -1e308, Double.MIN_VALUE, -Double.MIN_VALUE, Double.MIN_NORMAL, Double.MAX_VALUE, 709.782712893384,
        709.7827128933841, -745.1332191019411, -745.1332191019412, 710.4758600739439, 710.475860073944, 22, -22,
        0.41421356, -0.2928932, 1024, -1075, 9007199254740992.0, 9007199254740993.0, 4294967296.0, 2147483648.0,
        1e300, 1e-300, 1e-310, 3e-320, 0.975, 0.4375, 0.6875, 1.1875, 2.4375, 0.34657359, 1.0397, 38.8, 56, 1.5, -1.5,
        5e-9, 1e17, 1e-17, 1e22, 100, -100, 0.1, 0.3333333333333333,
    };

    private static long state;

    private Reals() {}

    private static long next() {
        state += 0x9E3779B97F4A7C15L;
        long z = (state ^ (state >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    private static double withExponent(long bits, long exponent) {
        return Double.longBitsToDouble((bits & 0x800fffffffffffffL) | exponent << 52);
    }

    private static double draw() {
        long kind = next();
        long bits = next();
        double unit = (bits >>> 11) * 0x1.0p-53;
        switch ((int) (kind & 7)) {
            case 0:
                return Double.longBitsToDouble(bits);
            case 1:
                return unit * 2 - 1;
            case 2:
                return unit * 1500 - 750;
            case 3:
            case 4:
                return withExponent(bits, 983 + (kind >>> 8) % 81);
            case 5:
                return (double) ((bits >> 40) % 2000);
            case 6:
                return 1.0 + withExponent(bits, 968 + (kind >>> 8) % 56);
            default:
                return ODD[(int) ((bits >>> 1) % ODD.length)];
        }
    }

    public static void main(String[] arguments) throws IOException {
        int count = Integer.parseInt(arguments[0]);
        try (var out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 20))) {
            for (var function : OF_ONE) {
                for (int i = 0; i < count; i++) {
                    out.writeLong(Double.doubleToRawLongBits(function.applyAsDouble(draw())));
                }
            }
            for (var function : OF_TWO) {
                for (int i = 0; i < count; i++) {
                    out.writeLong(Double.doubleToRawLongBits(function.applyAsDouble(draw(), draw())));
                }
            }
        }
    }
}
