package suites;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

/** One cluster in this process: a job that starts its own takes longer for that than for its rows. */
final class Cluster {
    private static Configuration address;

    private Cluster() {}

    /** What an environment needs to run its jobs there. */
    static synchronized Configuration address() throws Exception {
        if (address == null) {
            Configuration configuration = new Configuration();
            configuration.setString("rest.bind-address", "localhost");
            configuration.setString("rest.bind-port", "0");
            MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                    .setConfiguration(configuration).setNumTaskManagers(1).setNumSlotsPerTaskManager(8).build());
            cluster.start();
            address = new Configuration();
            address.setString("execution.target", "remote");
            address.setString("parallelism.default", "1");
            address.setString("rest.address", cluster.getRestAddress().get().getHost());
            address.setString("rest.port", String.valueOf(cluster.getRestAddress().get().getPort()));
        }
        return address;
    }
}
