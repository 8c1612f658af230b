#!/bin/sh
# Installs the servers of tests that come as Debian packages, and the browser that looks at the dashboard. It says what it does, needs root, and lets none of them
# start by itself: tests start their own.
set -eu

missing=
has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || missing="$missing $2"; }
has redis-server redis-server
has rabbitmq-server rabbitmq-server
has mosquitto mosquitto
has influxd influxdb
has clickhouse-server clickhouse-server
has prometheus prometheus
has carbon-cache graphite-carbon
has mariadbd mariadb-server
# PostgreSQL's programs lie in a folder of their version. wal2json is a library that the server loads.
[ -x /usr/lib/postgresql/15/bin/postgres ] || missing="$missing postgresql-15"
[ -e /usr/lib/postgresql/15/lib/wal2json.so ] || missing="$missing postgresql-15-wal2json"
has chromium "chromium fonts-dejavu-core"
if [ -z "$missing" ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "These packages are missing, and there is no apt-get to install them with:$missing" >&2
	exit 1
fi
echo "Installing as root, by apt-get, without starting them as services:$missing"
run=
if [ "$(id -u)" -ne 0 ]; then
	run=sudo
fi
# apt asks this file before it starts a service; 101 means no. One that is there already stays as it is.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | $run tee $policy >/dev/null
	$run chmod +x $policy
	trap '$run rm -f $policy' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086  # one word for each package
$run apt-get install -y -qq --no-install-recommends $missing >/dev/null
