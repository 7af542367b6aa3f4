import java.io.File;
import java.net.InetSocketAddress;
import java.util.Properties;
import java.util.Set;
import org.apache.druid.cli.CliBroker;
import org.apache.druid.cli.CliCoordinator;
import org.apache.druid.cli.CliHistorical;
import org.apache.druid.cli.CliIndexer;
import org.apache.druid.cli.CliRouter;
import org.apache.druid.cli.ServerRunnable;
import org.apache.druid.discovery.NodeRole;
import org.apache.druid.guice.RuntimeInfoModule;
import org.apache.druid.guice.StartupInjectorBuilder;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** One role of a Druid, or its ZooKeeper. Its class loader is its own, and so are all static fields. */
public final class Role
{
  private static final int ZOOKEEPER_TICK_MS = 2000;
  private static final int ZOOKEEPER_CONNECTIONS = 200;

  /** Returns when the role answers on its port. */
  public static void start(String role, Properties properties) throws Exception
  {
    if (role.equals("zookeeper")) {
      startZooKeeper(properties);
      return;
    }
    final ServerRunnable server = server(role);
    new StartupInjectorBuilder()
        .withProperties(properties)
        .withExtensions()
        .add(new RuntimeInfoModule())
        .build()
        .injectMembers(server);
    server.initLifecycle(server.makeInjector(roles(role)));
  }

  private static void startZooKeeper(Properties properties) throws Exception
  {
    System.setProperty("zookeeper.admin.enableServer", "false");
    final File folder = new File(properties.getProperty("folder"));
    final int port = Integer.parseInt(properties.getProperty("port"));
    final ServerCnxnFactory connections = new NIOServerCnxnFactory();
    connections.configure(new InetSocketAddress("127.0.0.1", port), ZOOKEEPER_CONNECTIONS);
    connections.startup(new ZooKeeperServer(folder, folder, ZOOKEEPER_TICK_MS));
  }

  private static ServerRunnable server(String role)
  {
    switch (role) {
      case "coordinator": return new CliCoordinator();
      case "historical": return new CliHistorical();
      case "indexer": return new CliIndexer();
      case "broker": return new CliBroker();
      case "router": return new CliRouter();
      default: throw new IllegalArgumentException("no such role: " + role);
    }
  }

  private static Set<NodeRole> roles(String role)
  {
    // The coordinator is the overlord too: one process less to start.
    if (role.equals("coordinator")) {
      return Set.of(NodeRole.COORDINATOR, NodeRole.OVERLORD);
    }
    return Set.of(NodeRole.fromJsonName(role));
  }
}
