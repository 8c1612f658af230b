#!/bin/sh
# Silent if a Java that Spark can run on is there; otherwise one line that says what to install, and status 1.
# src/millrace/spark/java.py makes the same check with the same text; tests/test_java_check.py compares the two.
set -u

MINIMUM=17
MESSAGE='Millrace needs Java 17 or newer, looked for in JAVA_HOME, then on PATH. Debian/Ubuntu: `apt-get install openjdk-17-jre-headless`; macOS: `brew install openjdk@17`; or set JAVA_HOME to one that you have'

fail() {
    printf '%s\n' "$MESSAGE${1:+. Found: $1}" >&2
    exit 1
}

# Spark's launcher runs $JAVA_HOME/bin/java whenever JAVA_HOME is set, so a good java on PATH would not help then.
if [ -n "${JAVA_HOME:-}" ]; then
    java=$JAVA_HOME/bin/java
else
    java=$(command -v java) || fail
fi
[ -f "$java" ] && [ -x "$java" ] || fail
output=$("$java" -version 2>&1 </dev/null) || fail "$java, which does not say its version"

# `openjdk version "17.0.15" 2025-04-15`, perhaps after lines such as `Picked up JAVA_TOOL_OPTIONS: ...`.
version=$(printf '%s\n' "$output" | sed -n -e '/^Picked up /d' -e 's/^[^"]*version "\([^"]*\)".*/\1/p' | head -n 1)
version=${version#1.} # up to Java 8 the major version was the second number: 1.8.0_402
major=${version%%[!0-9]*}
[ -n "$major" ] || fail "$java, which does not say its version"
[ "$major" -ge "$MINIMUM" ] || fail "$java, which is Java $major"
