package locks;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The version of a library, from the name of its jar, and that of Java. */
final class Versions {
    private static final Pattern JAR = Pattern.compile("-(\\d[^/]*)\\.jar$");

    private Versions() {}

    static Map<String, String> of(String library, Class<?> itsClass) {
        Matcher jar = JAR.matcher(itsClass.getProtectionDomain().getCodeSource().getLocation().getPath());
        Map<String, String> versions = new LinkedHashMap<>();
        versions.put(library, jar.find() ? jar.group(1) : "unknown");
        versions.put("java", Runtime.version().toString());
        return versions;
    }
}
