package approve

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// commandLine is what a shell would run.
type commandLine struct {
	simple []simpleCommand // all of them, in their order, also those in substitutions and functions
	// plain says that the line is only simple commands joined by ; && || | and line ends, and that their
	// words say what they do: no variable is set, no file written by a redirection, nothing substituted but
	// variables among the arguments.
	plain bool
	// unclear says that something is run whose name is only known when it runs.
	unclear bool
}

// simpleCommand is a program with its arguments: the words before the first one that is not literal, without
// their quotes.
type simpleCommand struct {
	words  []string
	others bool // words follow that are not literal
	more   bool // words follow that it reads when it runs, as xargs does
}

// parse reads a line as bash does. A line that cannot be read is unclear, and not plain.
func parse(line string) commandLine {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return commandLine{unclear: true}
	}
	out := commandLine{plain: !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })}
	for _, s := range file.Stmts {
		out.plain = out.plain && plainStatement(s)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			out.add(c.Args)
		}
		return true
	})
	return out
}

// add adds a command, and the commands of a line that it gives to a shell.
func (l *commandLine) add(args []*syntax.Word) {
	c := simpleCommand{}
	for _, w := range args {
		text, ok := literal(w)
		if !ok {
			c.others = true
			break
		}
		c.words = append(c.words, text)
	}
	l.simple = append(l.simple, c)
	if len(c.words) == 0 {
		l.unclear = true
		return
	}
	others := runsOthers(c.words[0])
	last := len(c.words) - 1
	l.simple[len(l.simple)-1].more = readsArguments(c.words[0])
	l.unclear = l.unclear || others && c.others || readsArguments(c.words[0]) && last > 0 && runsOthers(c.words[last])
	switch c.words[0] {
	case "eval":
		l.join(strings.Join(c.words[1:], " "))
	case ".", "source":
		l.unclear = l.unclear || last == 0 || isDevice(c.words[1])
	}
	for i, word := range c.words {
		switch {
		case i > 0 && !others:
			return
		case isShell(path.Base(word)):
			l.addLineOf(c.words[i+1:])
		case i == 0 || word == ";" || !strings.ContainsAny(word, " \t\n;|&"): // find ends a command with ;
		case strings.HasPrefix(word, "-"):
			l.unclear = true // env -S'rm x'
		default:
			l.join(word) // env -S 'rm x', su -c 'rm x'
		}
	}
}

// addLineOf adds the commands of the line in a shell's arguments. Without a line or a file, the shell reads
// commands from its input, and the line is unclear.
func (l *commandLine) addLineOf(args []string) {
	at := slices.IndexFunc(args, func(w string) bool {
		return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c")
	})
	if at >= 0 && at+1 < len(args) {
		l.join(args[at+1])
		return
	}
	file := slices.IndexFunc(args, func(w string) bool { return !simpleOptions(w) })
	l.unclear = l.unclear || file < 0 || strings.ContainsAny(args[file][:1], "-+") || isDevice(args[file])
}

// simpleOptions reports whether a shell's argument is options that neither take a value nor say what is run.
func simpleOptions(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "aefhiklmnprtuvxBCEHP") == ""
}

// isDevice reports whether a path may be standard input by another name, such as /dev/stdin.
func isDevice(name string) bool {
	return strings.HasPrefix(path.Clean(name), "/dev/") || strings.HasPrefix(path.Clean(name), "/proc/")
}

// join adds the commands of a line that is run by a shell within this one.
func (l *commandLine) join(line string) {
	inner := parse(line)
	l.simple, l.unclear = append(l.simple, inner.simple...), l.unclear || inner.unclear
}

// plainStatement reports whether a statement is only commands, whose words say what they do.
func plainStatement(s *syntax.Stmt) bool {
	if s.Background || s.Coprocess || s.Disown || !allHarmless(s.Redirs) {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(c.Assigns) == 0 && len(c.Args) > 0 && !slices.ContainsFunc(c.Args, func(w *syntax.Word) bool { return !plainParts(w.Parts) }) && !changesShell(c.Args)
	case *syntax.BinaryCmd:
		return c.Op != syntax.PipeAll && plainStatement(c.X) && plainStatement(c.Y)
	}
	return false
}

// changesShell reports whether a command of bash itself changes what the words after it mean (printf -v PATH), or
// runs what is in its arguments (test -v 'x[$(rm y)]').
func changesShell(args []*syntax.Word) bool {
	name, _ := literal(args[0])
	switch name {
	case "printf", "test":
		return slices.ContainsFunc(args[1:], func(w *syntax.Word) bool {
			var out strings.Builder
			err := syntax.NewPrinter().Print(&out, w)
			text := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(out.String())
			return err != nil || strings.HasPrefix(text, "-v") || strings.Contains(text, "[") && strings.ContainsAny(text, "$`")
		})
	}
	return slices.Contains([]string{"alias", "bind", "compgen", "complete", "enable", "fc", "getopts", "hash", "mapfile", "read", "readarray", "set", "shopt", "unset", "wait"}, name)
}

// allHarmless reports whether redirections neither read nor write a file.
func allHarmless(list []*syntax.Redirect) bool {
	return !slices.ContainsFunc(list, func(r *syntax.Redirect) bool {
		target, ok := literal(r.Word)
		switch r.Op {
		case syntax.DplOut, syntax.DplIn: // 2>&1
			return !ok || strings.Trim(target, "0123456789") != "" && target != "-"
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrIn:
			return !ok || target != "/dev/null"
		}
		return true
	})
}

// plainParts reports whether a word has nothing but text and variables without operators.
func plainParts(parts []syntax.WordPart) bool {
	return !slices.ContainsFunc(parts, func(p syntax.WordPart) bool {
		switch p := p.(type) {
		case *syntax.Lit:
			return false
		case *syntax.SglQuoted:
			return p.Dollar
		case *syntax.DblQuoted:
			return p.Dollar || !plainParts(p.Parts)
		case *syntax.ParamExp:
			return p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Excl || p.Length || p.Width || p.Names != 0 || p.NestedParam != nil || p.Param == nil
		}
		return true
	})
}

// literal returns a word without its quotes; ok is false if the shell would expand it.
func literal(w *syntax.Word) (text string, ok bool) {
	if w == nil {
		return "", false
	}
	var out strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !unescape(&out, p.Value, "") {
				return "", false
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			out.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, isLit := q.(*syntax.Lit)
				if p.Dollar || !isLit || !unescape(&out, lit.Value, "$`\"\\") {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	return out.String(), true
}

// unescape writes a text without its backslashes. only has the characters that a backslash escapes between
// double quotes. Outside of quotes, only is "", and a backslash escapes any character. There, unescape reports
// false if the shell would expand the text.
func unescape(out *strings.Builder, text, only string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i++
		case c == '\\' && i+1 < len(text) && (only == "" || strings.IndexByte(only, text[i+1]) >= 0):
			i++
			out.WriteByte(text[i])
		case only == "" && strings.IndexByte("*?[]{}~", c) >= 0:
			return false
		default:
			out.WriteByte(c)
		}
	}
	return true
}

// isShell reports whether a program runs the line after -c.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "csh", "tcsh", "fish", "ash"}, name)
}

// readsArguments reports whether a program runs a command with arguments from its input.
func readsArguments(name string) bool {
	return slices.Contains([]string{"xargs", "parallel"}, path.Base(name))
}

// runsOthers reports whether a program runs the command that its arguments name.
func runsOthers(name string) bool {
	return slices.Contains([]string{"env", "sudo", "doas", "su", "sg", "runuser", "setpriv", "pkexec", "run0", "nohup", "nice", "ionice", "chrt", "taskset", "prlimit", "timeout", "gtimeout",
		"time", "gtime", "xargs", "parallel", "command", "builtin", "exec", "stdbuf", "unbuffer", "setsid", "flock", "busybox", "watch", "entr", "hyperfine", "find", "fd", "ssh", "strace", "ltrace",
		"gdb", "valgrind", "perf", "script", "expect", "unshare", "nsenter", "chroot", "bwrap", "firejail", "systemd-run", "xvfb-run", "caffeinate", "tmux", "screen", "eval", "npx", "bunx", "uvx",
		"pipx", "trap", "source", "."}, path.Base(name))
}
