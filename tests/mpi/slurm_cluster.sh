# shellcheck shell=bash disable=SC2034,SC2154 # variables are the scripts'
# A cluster of Slurm on this machine for a test; to be sourced after common.sh.
# It lives in $dir, on ports of its own, beside what Slurm may run already, and
# goes away with the script, however that ends.

daemons=()
clean_up() {
    local pid
    [ ${#daemons[@]} -gt 0 ] || return 0
    timeout $((5 * TIME_SCALE)) scancel -f -u root
    within 10 nobody_queues
    # Last started, first ended: slurmd would ask slurmctld and munged.
    kill "${daemons[@]}"
    wait "${daemons[@]}"
    # What starts jobs outlives its daemon.
    for pid in $(of_cluster slurmstepd); do
        kill -KILL "$pid"
    done
} >/dev/null 2>&1

# of_cluster NAME: its processes with that name.
of_cluster() {
    local pid
    for pid in $(pgrep -x "$1"); do
        ! grep -qz "^SLURM_CONF=$dir/" "/proc/$pid/environ" || echo "$pid"
    done 2>/dev/null
}

nobody_queues() {
    [ -z "$(timeout $((5 * TIME_SCALE)) squeue -h)" ]
}

# cluster_missing: what this machine lacks for it, or nothing.
cluster_missing() {
    local name
    [ "$(id -u)" -eq 0 ] || echo root
    for name in munged slurmctld slurmd sbatch; do
        command -v $name >/dev/null || echo $name
    done
}

# daemon COMMAND...
daemon() {
    "$@" >>"$dir/daemons" 2>&1 </dev/null &
    daemons=($! "${daemons[@]}")
}

# cluster NODES CPUS: nodes n1, n2, ... of so many processors, more than there
# are if need be; all idle when this returns.
cluster() {
    local nodes=$1 cpus=$2 name base=$((20000 + $$ % 20000)) n
    name=$(hostname)
    chmod a+x "$dir" # munged wants it
    mkdir "$dir/state"
    (umask 077 && dd if=/dev/urandom of="$dir/key" bs=128 count=1 status=none)
    cat >"$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$dir/munge.socket
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmdSpoolDir=$dir/spool.%n
TmpFS=$dir/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MailProg=/bin/true
MpiDefault=none
NodeName=n[1-$nodes] NodeHostname=$name NodeAddr=127.0.0.1 Port=$((base + 1))-$((base + nodes)) CPUs=$cpus
PartitionName=all Nodes=ALL Default=YES
CONF
    export SLURM_CONF=$dir/slurm.conf
    daemon munged -F --socket="$dir/munge.socket" --key-file="$dir/key" \
        --pid-file="$dir/munged.pid" --seed-file="$dir/munge.seed"
    within 20 test -S "$dir/munge.socket" || return 1
    daemon slurmctld -D
    for n in $(seq "$nodes"); do
        mkdir "$dir/spool.n$n" "$dir/tmp.n$n"
        daemon slurmd -D -N "n$n"
    done
    within 60 all_idle "$nodes"
}

all_idle() {
    [ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" -eq "$1" ]
}

# job_field NAME ID: as scontrol knows it.
job_field() {
    scontrol show job "$2" | sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p"
}

# job_is STATE ID
job_is() {
    [ "$(job_field JobState "$2")" = "$1" ]
}
