#!/bin/sh
# Runs pgbench on PostgreSQL in the folder in which this is run, which root may write:
#
#     OPTIONS=--instant SIZE=512M ./on_a_slow_disk.sh pg ./postgresql.sh begin
#     ./on_a_slow_disk.sh pg ./postgresql.sh bench
#
# The first makes the database, the second runs pgbench for 20 seconds. It needs Debian's package
# postgresql, and no server that runs already.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as_postgres() { runuser -u postgres -- env LC_ALL=C "$@"; }
control() {
    as_postgres "$bin/pg_ctl" -D "$PWD/data" -w -t 300 -l /dev/null \
        -o "-k $PWD/data -c listen_addresses= -p 54329" "$1"
}
bench() { as_postgres "$bin/pgbench" -h "$PWD/data" -p 54329 "$@"; }

case "$1" in
begin)
    mkdir data && chown postgres data
    as_postgres "$bin/initdb" -D "$PWD/data" -A trust
    control start
    bench --initialize --scale 1 postgres
    ;;
bench)
    control start
    bench --client 4 --time 20 --no-vacuum postgres
    ;;
esac
control stop
