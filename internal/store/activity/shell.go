package activity

import (
	"path"
	"strings"

	"tape/internal/text/jsonl"
)

// commandOf returns the command of a call that runs a shell, and the working directory that the call names.
func commandOf(args []byte) (command, dir string) {
	for key, v := range jsonl.Fields(args) {
		switch key {
		case "command", "cmd", "script", "input":
			var ok bool
			if command, ok = jsonl.String(v); ok {
				continue
			}
			if words := jsonl.Strings(v); len(words) > 0 {
				if len(words) >= 3 && strings.HasPrefix(words[1], "-") { // as in sh -c COMMAND
					words = words[2:]
				}
				command = strings.Join(words, " ")
			}
		case "commands":
			command = strings.Join(jsonl.Strings(v), "\n")
		case "workdir", "dir_path", "directory", "working_directory":
			dir, _ = jsonl.String(v)
		}
	}
	return command, dir
}

// inDir joins a relative path to a directory, if the directory is known.
func inDir(dir, name string) string {
	if dir == "" || path.IsAbs(name) || hasDrive(name) {
		return name
	}
	return path.Join(strings.ReplaceAll(dir, `\`, "/"), name)
}

func hasDrive(name string) bool { return len(name) > 2 && name[1] == ':' }

// effectOfProgram returns what a program does with the files that its arguments name: nothing for a program that is
// not listed here, because most words of a command are not files.
func effectOfProgram(name string) effect {
	switch name {
	case "cat", "head", "tail", "less", "more", "nl", "bat", "wc", "grep", "egrep", "rg", "awk", "sed", "diff", "cmp", "jq",
		"sort", "uniq", "cut", "xxd", "od", "file", "source", "gofmt",
		"sh", "bash", "zsh", "python", "python3", "node", "ruby", "perl", "php", "deno", "bun", "tsx":
		return reads
	case "tee", "touch", "rm", "mv", "cp", "truncate":
		return writes
	}
	return nothing
}

// longestCommand is how many bytes of a command are read at most.
const longestCommand = 8 << 10

// shellTouches guesses which files a command reads and writes: the arguments of well-known programs that look like
// names of files, and the files that output is redirected to.
func shellTouches(command string) (out []Touch) {
	if strings.Contains(command, "*** Begin Patch") {
		return patchTouches(command)
	}
	if !strings.ContainsAny(command, "./") {
		return nil
	}
	command = command[:min(len(command), longestCommand)]
	s := &commandReader{left: command}
	var dir, program string
	what, first, redirect := nothing, true, false
	touch := func(name string, what effect) {
		if len(out) >= maxTouches || !looksLikeFile(name) {
			return
		}
		t := Touch{Path: inDir(dir, name)}
		if what == writes {
			t.Writes = 1
		} else {
			t.Reads = 1
		}
		out = append(out, t)
	}
	for {
		word, kind := s.next()
		switch {
		case kind == end:
			return out
		case kind == separator:
			first, redirect, what = true, false, nothing
		case kind == output:
			redirect = true
		case redirect:
			redirect = false
			if word != "/dev/null" {
				touch(word, writes)
			}
		case first && (strings.Contains(word, "=") || word == "sudo" || word == "time" || word == "env"):
		case first:
			first, program, what = false, path.Base(word), effectOfProgram(path.Base(word))
			if strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") {
				touch(word, reads) // a script
			}
		case program == "cd":
			dir, program = inDir(dir, word), ""
		case program == "sed" && strings.HasPrefix(word, "-i"):
			what = writes
		case what != nothing && !strings.HasPrefix(word, "-"):
			touch(word, what)
		}
	}
}

// looksLikeFile reports whether a word is probably the name of a file: it has an extension or begins with /, ./ or
// ../, and has no characters that are special to a shell or rare in names.
func looksLikeFile(word string) bool {
	if len(word) < 2 || len(word) > 1000 || strings.ContainsAny(word, "*?$`{}()[]|<>\"'\\^ \t\n;,=@!") || strings.Contains(word, "://") ||
		strings.HasSuffix(word, "/") || strings.HasPrefix(word, "/dev/") || strings.HasPrefix(word, "s/") {
		return false
	}
	base := path.Base(word)
	ext := path.Ext(base)
	if len(ext) > 1 && len(ext) <= 12 && strings.Trim(ext[1:], "0123456789") != "" && !strings.ContainsAny(base, "%") {
		return true
	}
	return strings.HasPrefix(word, "/") || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
}

// commandReader reads the words of a command, roughly as a shell does. It stops at a here-document, but still finds a
// redirection on the same line.
type commandReader struct{ left string }

type tokenKind int

const (
	plainWord tokenKind = iota
	separator           // between two commands
	output              // the next word is a file that is written
	end
)

func (r *commandReader) next() (string, tokenKind) {
	r.left = strings.TrimLeft(r.left, " \t")
	switch {
	case r.left == "":
		return "", end
	case strings.HasPrefix(r.left, "<<"):
		// Only a shell can tell where the text of a here-document ends. The line with << may still redirect output.
		line, _, more := strings.Cut(r.left, "\n")
		if _, rest, ok := strings.Cut(line, ">"); ok && more {
			r.left = ">" + strings.TrimLeft(rest, ">")
			return r.next()
		}
		r.left = ""
		return "", end
	case strings.HasPrefix(r.left, ">"), strings.HasPrefix(r.left, "1>"), strings.HasPrefix(r.left, "&>"):
		r.left = strings.TrimLeft(strings.TrimLeft(r.left, "1&"), ">")
		if strings.HasPrefix(r.left, "&") { // to another descriptor
			r.left = strings.TrimLeft(r.left, "&0123456789")
			return r.next()
		}
		return "", output
	case strings.HasPrefix(r.left, "2>"):
		r.left = strings.TrimLeft(r.left[1:], ">&")
		_, _ = r.next() // the file for errors
		return r.next()
	case strings.HasPrefix(r.left, "<"):
		r.left = r.left[1:]
		return r.next()
	case strings.ContainsRune("|&;\n", rune(r.left[0])):
		r.left = strings.TrimLeft(r.left, "|&;\n")
		return "", separator
	}
	return r.word()
}

func (r *commandReader) word() (string, tokenKind) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(r.left); i++ {
		c := r.left[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
				continue
			}
		case c == '\'' || c == '"':
			quote = c
			continue
		case strings.IndexByte(" \t\n|&;<>", c) >= 0:
			r.left = r.left[i:]
			return b.String(), plainWord
		}
		b.WriteByte(c)
	}
	r.left = ""
	return b.String(), plainWord
}
