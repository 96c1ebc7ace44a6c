# Makes man/mtlm-dag.1: the prose of mtlm-dag.1.in, and for its line @options
# every option of launch/options/option_list.h with the notes of
# mtlm-dag.options.  The choices and the help of --schedule come from
# graph/schedule/schedule_list.h.
#
# Usage: awk -f options.awk SCHEDULES LIST NOTES PAGE

function fail(why)
{
    print "options.awk: " why >"/dev/stderr"
    failed = 1
    exit 1
}

# As troff wants text: a dash is no hyphen.
function escaped(text)
{
    gsub(/-/, "\\-", text)
    return text
}

# Options in bold.
function prose(text,    before, name)
{
    before = ""
    while (match(text, /--[a-z][a-z0-9-]*[a-z0-9]/)) {
        name = substr(text, RSTART, RLENGTH)
        before = before substr(text, 1, RSTART - 1) "\\fB" escaped(name) "\\fR"
        text = substr(text, RSTART + RLENGTH)
    }
    return before text
}

function sentence(text)
{
    return prose(toupper(substr(text, 1, 1)) substr(text, 2)) "."
}

# The arguments of a macro call that text begins with, into arg[1 ..]; words
# and strings, of which neighbours are one.  Returns what follows the call.
function arguments(text, arg,    n)
{
    n = 1
    arg[1] = ""
    while (text !~ /^\)/) {
        if (match(text, /^[ \t]+/))
            ;
        else if (match(text, /^"([^"\\]|\\.)*"/))
            arg[n] = arg[n] substr(text, 2, RLENGTH - 2)
        else if (match(text, /^,/))
            arg[++n] = ""
        else if (match(text, /^[^",)]+/))
            arg[n] = arg[n] substr(text, 1, RLENGTH)
        else
            fail("cannot read: " substr(text, 1, 40))
        text = substr(text, RLENGTH + 1)
    }
    return substr(text, 2)
}

function read_groups(text,    arg)
{
    while (match(text, /GROUP\(/)) {
        text = arguments(substr(text, RSTART + 6), arg)
        title[arg[1]] = arg[2]
        about[arg[1]] = arg[3]
    }
}

function print_option(arg,    name, value)
{
    name = arg[3]
    print ".TP"
    if (arg[9] == "NULL")
        print ".B " escaped("--" name)
    else if (arg[9] ~ / /)
        print ".BI \"" escaped("--" name) " \" \"" arg[9] "\""
    else
        print ".BI \"" escaped("--" name) " \" " arg[9]
    print sentence(arg[10])
    printf "%s", notes[name]
    delete notes[name]
    if (arg[6] == "NEEDED")
        print "Without a preset this option is needed."
    else if (arg[6] != "" && arg[9] != "NULL")
        print "Default: " escaped(arg[6]) "."
}

function print_options(text,    arg, group, key)
{
    while (match(text, /OPT\(/)) {
        text = arguments(substr(text, RSTART + 4), arg)
        if (!(arg[1] in title))
            fail("unknown group " arg[1])
        if (arg[1] != group) {
            group = arg[1]
            key = "group " title[group]
            print ".SS \"" title[group] "\""
            if (about[group] != "")
                print prose(about[group])
            printf "%s", notes[key]
            delete notes[key]
        }
        print_option(arg)
    }
    for (key in notes)
        fail("notes about no option: " key)
}

# Replaces the names of macros in the list of options.
function insert_schedules(text,    arg, choices, help)
{
    while (match(text, /SCHEDULE\(/)) {
        text = arguments(substr(text, RSTART + 9), arg)
        choices = choices (choices == "" ? "" : "|") arg[1]
        help = help "; " arg[1] ": " arg[2]
    }
    gsub(/MTLM_SCHEDULE_CHOICES/, "\"" choices "\"", list["options"])
    gsub(/MTLM_SCHEDULE_HELP/, "\"" help "\"", list["options"])
}

FNR == 1 { file++ }

# The lists of schedules, groups and options, each in one line.
file <= 2 {
    if (/^#define MTLM_SCHEDULE_LIST/)
        part = "schedules"
    else if (/^#define MTLM_OPTION_GROUP_LIST/)
        part = "groups"
    else if (/^#define MTLM_OPTION_LIST/)
        part = "options"
    else if (part != "") {
        line = $0
        more = sub(/[ \t]*\\$/, "", line)
        list[part] = list[part] line " "
        if (!more)
            part = ""
    }
    next
}

file == 3 && /^\.\\"/ { next }
file == 3 && /^@/ { about_what = substr($0, 2); next }
file == 3 { notes[about_what] = notes[about_what] $0 "\n"; next }

$0 == "@options" {
    insert_schedules(list["schedules"])
    read_groups(list["groups"])
    print_options(list["options"])
    next
}
{ print }

END { exit failed }
