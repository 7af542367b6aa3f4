import java.io.File;
import java.io.Reader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * ZooKeeper and the roles of a Druid in one JVM, for tests: one process to start, to watch and to end.
 * It ends when its standard input does, so that it cannot outlive the process that started it, however that one ended.
 */
public final class OneJvm
{
  /** Arguments: the server's folder, the folder of jars, the folder of these classes, then the roles in order. */
  public static void main(String[] args) throws Exception
  {
    final Path folder = Path.of(args[0]);
    onEndOfInput(() -> remove(folder));
    // What log4j does not see: a line for every class of the web interface.
    Logger.getLogger("").setLevel(Level.WARNING);
    final URL[] classPath = classPath(folder, args[1], args[2]);
    for (String role : Arrays.asList(args).subList(3, args.length)) {
      try {
        start(role, properties(folder, role), classPath);
      }
      catch (Throwable error) {
        error.printStackTrace();
        // The last line names the cause: whoever started this reads only the end of what it prints.
        System.err.println(role + " failed: " + rootCause(error));
        Runtime.getRuntime().halt(1);
      }
    }
    System.out.println("ready");
    Thread.currentThread().join();
  }

  /** Each role has a class loader of its own: Druid keeps the routes of its web server in a static field. */
  private static void start(String role, Properties properties, URL[] classPath) throws Exception
  {
    final ClassLoader loader = new URLClassLoader(role, classPath, ClassLoader.getPlatformClassLoader());
    Thread.currentThread().setContextClassLoader(loader);
    loader.loadClass("Role").getMethod("start", String.class, Properties.class).invoke(null, role, properties);
    System.out.println(role + " is up");
  }

  private static URL[] classPath(Path folder, String jars, String classes) throws Exception
  {
    final List<File> files = new ArrayList<>(List.of(folder.toFile(), new File(classes)));
    final File[] found = new File(jars).listFiles((parent, name) -> name.endsWith(".jar"));
    Arrays.sort(found);
    files.addAll(Arrays.asList(found));
    final URL[] urls = new URL[files.size()];
    for (int i = 0; i < urls.length; i++) {
      urls[i] = files.get(i).toURI().toURL();
    }
    return urls;
  }

  private static Properties properties(Path folder, String role) throws Exception
  {
    final Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(folder.resolve(role + ".properties"))) {
      properties.load(reader);
    }
    return properties;
  }

  private static void onEndOfInput(Runnable last)
  {
    final Thread thread = new Thread(() -> {
      try {
        while (System.in.read() >= 0) {
          // Nothing is said on it; only its end counts.
        }
      }
      catch (Exception broken) {
        System.err.println(broken);
      }
      last.run();
      Runtime.getRuntime().halt(0);
    }, "leash");
    thread.setDaemon(true);
    thread.start();
  }

  private static void remove(Path folder)
  {
    try (Stream<Path> paths = Files.walk(folder)) {
      paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    }
    catch (Exception gone) {
      System.err.println(gone);
    }
  }

  private static Throwable rootCause(Throwable error)
  {
    return error.getCause() == null ? error : rootCause(error.getCause());
  }
}
