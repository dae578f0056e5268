package org.apache.spark.network.crypto;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Field;
import java.nio.channels.Channels;
import java.util.HexFormat;
import java.util.Map;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/**
 * Handshakes of Spark's AuthEngine, and what its ciphers make of some bytes: a line for each version and cipher with
 * the client's private key, its message, the server's, and the bytes. Compiled and run with Spark's jars on the class
 * path; crates/auth/src/spark_tests.rs reads the output.
 */
public class AuthVectors {
  private static byte[] encoded(AuthMessage message) {
    ByteBuf out = Unpooled.buffer();
    message.encode(out);
    byte[] bytes = new byte[out.readableBytes()];
    out.readBytes(bytes);
    return bytes;
  }

  /** Sealed by the server. */
  private static byte[] sealed(TransportCipher cipher, byte[] plain) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    var channel = Channels.newChannel(out);
    if (cipher instanceof GcmTransportCipher gcm) {
      var message = new GcmTransportCipher.GcmEncryptedMessage(gcm.getAesGcmHkdfStreaming(), Unpooled.wrappedBuffer(plain));
      while (message.transferred() < message.count()) {
        message.transferTo(channel, message.transferred());
      }
    } else {
      var stream = ((CtrTransportCipher) cipher).createOutputStream(channel);
      stream.write(plain);
      stream.flush();
    }
    return out.toByteArray();
  }

  public static void main(String[] args) throws Exception {
    HexFormat hex = HexFormat.of();
    for (String version : new String[] {"1", "2"}) {
      for (String cipher : new String[] {"CTR", "GCM"}) {
        // One of them has several segments.
        byte[] plain = new byte[version.equals("2") && cipher.equals("GCM") ? 32800 : 300];
        for (int i = 0; i < plain.length; i++) {
          plain[i] = (byte) (i * 31 + i / 251);
        }
        TransportConf conf = new TransportConf("rpc", new MapConfigProvider(Map.of(
            "spark.network.crypto.authEngineVersion", version,
            "spark.network.crypto.cipher", "AES/" + cipher + "/NoPadding")));
        AuthEngine client = new AuthEngine("app-20260101-0001", "a secret of ours", conf);
        AuthEngine server = new AuthEngine("app-20260101-0001", "a secret of ours", conf);
        AuthMessage challenge = client.challenge();
        Field key = AuthEngine.class.getDeclaredField("clientPrivateKey");
        key.setAccessible(true);
        AuthMessage response = server.response(challenge);
        System.out.println(String.join(" ", version, cipher, hex.formatHex((byte[]) key.get(client)),
            hex.formatHex(encoded(challenge)), hex.formatHex(encoded(response)),
            hex.formatHex(sealed(server.sessionCipher(), plain))));
      }
    }
  }
}
