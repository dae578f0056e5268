import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.HexFormat;
import java.util.Scanner;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.security.CryptoStreamUtils;

/** Streams through Spark's own classes: each line of input is a command, a codec or a key, and data; each line of output the result. Bytes are hexadecimal. */
public class SparkStreams {
    public static void main(String[] args) throws Exception {
        SparkConf conf = new SparkConf(false);
        for (String arg : args) {
            conf.set(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
        }
        HexFormat hex = HexFormat.of();
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ", -1);
            byte[] data = hex.parseHex(words[2]);
            try {
                System.out.println(hex.formatHex(run(conf, words[0], words[1], data)));
            } catch (Exception e) {
                System.out.println("! " + e);
            }
        }
    }

    static byte[] run(SparkConf conf, String command, String with, byte[] data) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        switch (command) {
            case "compress":
                try (OutputStream out = CompressionCodec.createCodec(conf, with).compressedOutputStream(bytes)) {
                    out.write(data);
                }
                return bytes.toByteArray();
            case "decompress":
                return CompressionCodec.createCodec(conf, with).compressedInputStream(new ByteArrayInputStream(data)).readAllBytes();
            case "encrypt":
                try (OutputStream out = CryptoStreamUtils.createCryptoOutputStream(bytes, conf, HexFormat.of().parseHex(with))) {
                    out.write(data);
                }
                return bytes.toByteArray();
            case "decrypt":
                try (InputStream in = CryptoStreamUtils.createCryptoInputStream(new ByteArrayInputStream(data), conf, HexFormat.of().parseHex(with))) {
                    return in.readAllBytes();
                }
            default:
                throw new IllegalArgumentException(command);
        }
    }
}
