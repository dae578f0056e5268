package org.firesteel;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Which types are taken for which: as by modules of Python, and by {@code widening.rs}. */
final class Types {
  private static final List<DataType> INTEGERS =
      Arrays.asList(DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);

  private Types() {}

  /** Whether an argument of one type is taken for one of another: of the same, or a wider one. */
  static boolean takes(DataType given, DataType wanted) {
    if (same(given, wanted) || given.equals(DataTypes.NullType)) {
      return true;
    }
    int from = INTEGERS.indexOf(given);
    if (wanted.equals(DataTypes.DoubleType)) {
      return from >= 0 || given.equals(DataTypes.FloatType) || given instanceof DecimalType;
    }
    return from >= 0 && from < INTEGERS.indexOf(wanted);
  }

  /** The same but for what may be null. */
  private static boolean same(DataType given, DataType wanted) {
    if (given instanceof ArrayType && wanted instanceof ArrayType) {
      return same(((ArrayType) given).elementType(), ((ArrayType) wanted).elementType());
    }
    if (given instanceof MapType && wanted instanceof MapType) {
      MapType own = (MapType) given;
      MapType other = (MapType) wanted;
      return same(own.keyType(), other.keyType()) && same(own.valueType(), other.valueType());
    }
    if (given instanceof StructType && wanted instanceof StructType) {
      StructField[] own = ((StructType) given).fields();
      StructField[] others = ((StructType) wanted).fields();
      boolean same = own.length == others.length;
      for (int i = 0; same && i < own.length; i++) {
        same = own[i].name().equals(others[i].name()) && same(own[i].dataType(), others[i].dataType());
      }
      return same;
    }
    return given.equals(wanted);
  }

  /** As Spark's errors name it. */
  static String quoted(DataType of) {
    return "\"" + of.sql() + "\"";
  }
}
