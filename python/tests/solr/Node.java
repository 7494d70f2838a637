import java.util.Properties;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/** A node of SolrCloud on the loopback address: HOME PORT ZOOKEEPER. */
public class Node {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("host", "127.0.0.1");
        System.setProperty("hostPort", arguments[1]);
        System.setProperty("zkHost", arguments[2]);
        JettyConfig config = JettyConfig.builder().setPort(Integer.parseInt(arguments[1])).build();
        JettySolrRunner node = new JettySolrRunner(arguments[0], new Properties(), config);
        node.start();
        System.out.println("up " + node.getBaseUrl());
        Thread.sleep(Long.MAX_VALUE);
    }
}
