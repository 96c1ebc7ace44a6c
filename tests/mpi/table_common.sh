# shellcheck shell=bash disable=SC2034,SC2154 # variables are the scripts'
# The lines of table.txt as options; to be sourced after common.sh.

# Windows of lines without a schedule, in turn; lines: how many were read.
windows=(1.5 3 1)
lines=0

# table_model NAME LAYERS: the options of a model; it trains $steps steps.
table_model() {
    model=("${small[@]}" --num-layers "$2" --micro-batch-size 1
        --hidden-size 32 --seq-length 32 --train-iters $steps)
    case $1 in
    bert) model+=(--model bert-tiny) ;;
    bert-post)
        model+=(--model bert-tiny --apply-residual-connection-post-layernorm)
        ;;
    esac
}

# table_options LINE...: a line of the table as $ranks and options.
table_options() {
    ranks=$(($3 * $4 * $6))
    table_model "$1" "$2"
    spread=(--tensor-model-parallel-size "$3"
        --pipeline-model-parallel-size "$4"
        --num-virtual-stages-per-pipeline-rank "$5")
    [ "$7" = - ] || spread+=(--sequence-parallel)
    [ "$8" = - ] || spread+=(--use-distributed-optimizer)
    case $9 in
    selective) spread+=(--recompute-granularity selective) ;;
    uniform | block)
        spread+=(--recompute-granularity full --recompute-method "$9"
            --recompute-num-layers 2)
        ;;
    esac
    spread+=(--placement "${10}")
    if [ "${11}" = window ]; then
        spread+=(--window "${windows[lines % 3]}")
    else
        spread+=(--schedule "${11}")
    fi
}
