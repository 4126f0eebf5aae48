package secrets

import "bytes"

// option is an option of a program that takes a password.
type option struct {
	program, name string
	glued         bool // the value only counts without a space before it: mysql -p asks
	spaced        bool // it only counts after a space: openssl has -key and -keyout, too
	after         byte // the password follows this byte of the value: user%password; 0: it is the value
}

func options() []option {
	var out []option
	for _, program := range []string{"mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mysqlcheck", "mariadb", "mariadb-dump", "mariadb-admin"} {
		out = append(out, option{program: program, name: "-p", glued: true})
	}
	for _, program := range []string{"mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "mycli"} {
		out = append(out, option{program: program, name: "-p"})
	}
	for _, program := range []string{"ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd"} {
		out = append(out, option{program: program, name: "-w"})
	}
	for _, program := range []string{"smbclient", "rpcclient", "smbget"} {
		out = append(out, option{program: program, name: "-U", after: '%'})
	}
	return append(out, option{program: "login", name: "-p"}, option{program: "redis-cli", name: "-a"}, option{program: "sqlcmd", name: "-P"}, option{program: "ipmitool", name: "-P"},
		option{program: "unzip", name: "-P"}, option{program: "7z", name: "-p", glued: true}, option{program: "xfreerdp", name: "/p:", glued: true}, option{program: "openssl", name: "-k", spaced: true})
}

// loginPrograms have a command login that takes a password.
func loginPrograms() []string {
	return []string{"docker", "podman", "nerdctl", "buildah", "skopeo", "registry", "auth", "oras", "crane", "regctl", "oc", "cf", "az", "az acr", "acr", "wrangler", "ctr", "apptainer", "singularity"}
}

// given returns the check for an option of a program.
func given(o option) func(w *walker, text []byte, start, end int) {
	return func(w *walker, text []byte, start, end int) {
		if string(text[start:end]) != o.program || !startsToken(text, start) || end >= len(text) || text[end] > ' ' && !isQuote(text[end]) && text[end] != '\\' {
			return
		}
		if o.program == "login" && !endsInOne(bytes.TrimRight(lineBefore(text, start), " \t"), loginPrograms()) {
			return
		}
		const longest = 2 << 10 // bytes of a command
		limit := min(len(text), end+longest)
		for i := end; i+len(o.name) < limit && !endsCommand(text, i); i++ {
			if text[i-1] > ' ' && !isQuote(text[i-1]) || !bytes.HasPrefix(text[i:], []byte(o.name)) {
				continue
			}
			at := i + len(o.name)
			if o.glued && (text[at] <= ' ' || isQuote(text[at]) && isQuote(text[i-1])) || o.spaced && text[at] > ' ' && !isQuote(text[at]) {
				continue
			}
			if !o.glued {
				at = nextWord(text, at)
			}
			v := assignment{name: start, command: true}
			if v.read(w.s, text, at) {
				if n := bytes.IndexByte(text[v.from:v.to], o.after); o.after != 0 {
					v.from += n + 1
					if n < 0 {
						return
					}
				}
				w.givenPassword(text, v, nil, ruleCommand)
			}
			return
		}
	}
}

// endsInOne reports whether a text ends in one of some words.
func endsInOne(text []byte, words []string) bool {
	for _, word := range words {
		if endsInWord(text, word) {
			return true
		}
	}
	return false
}
