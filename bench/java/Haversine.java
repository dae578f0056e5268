import org.apache.spark.sql.api.java.UDF4;

/** The distance of two points in km, as examples/functions/c/haversine.c computes it. */
public final class Haversine implements UDF4<Double, Double, Double, Double, Double> {
    private static final double KM = 6371.0088;

    @Override
    public Double call(Double lat1, Double lon1, Double lat2, Double lon2) {
        double toRadians = Math.PI / 180.0;
        double lat = Math.sin((lat2 - lat1) * toRadians / 2);
        double lon = Math.sin((lon2 - lon1) * toRadians / 2);
        double a = lat * lat + Math.cos(lat1 * toRadians) * Math.cos(lat2 * toRadians) * lon * lon;
        return 2 * KM * Math.asin(Math.sqrt(Math.min(a, 1)));
    }
}
