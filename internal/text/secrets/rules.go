package secrets

import (
	_ "embed" // the table of rules
	"strings"
)

// The rules that have code of their own.
const (
	rulePrivateKey  = "private-key"
	ruleJWT         = "jwt"
	ruleURLPassword = "url-password"
	ruleBasicAuth   = "basic-auth"
	ruleBearer      = "bearer-token"
	rulePassword    = "password-assignment"
	ruleCommand     = "command-password"
	ruleNetrc       = "netrc-password"
	ruleAssigned    = "secret-assignment"
	ruleEntropy     = "high-entropy"
	ruleAWSSecret   = "aws-secret-key"
	ruleAzureKey    = "azure-key"
	ruleDiscord     = "discord-token"
)

type ruleShapes struct {
	Rule
	shapes []string
}

//go:embed rules.txt
var ruleTable string

// table returns all rules with their shapes, always in the same order.
func table() []ruleShapes {
	var out []ruleShapes
	for line := range strings.Lines(ruleTable) {
		if line[0] != '#' {
			columns := append(strings.Split(line, " | "), "")
			out = append(out, ruleShapes{Rule{columns[0], strings.TrimSpace(columns[1])}, strings.Fields(columns[2])})
		}
	}
	return out
}

// Rules returns all rules, always in the same order.
func Rules() []Rule {
	var out []Rule
	for _, r := range table() {
		out = append(out, r.Rule)
	}
	return out
}

// trigger is a literal at which the automaton stops, and the check to run there.
type trigger struct {
	literal string
	shape   *shape // nil: use check
	check   func(w *walker, text []byte, start, end int)
}

// allTriggers returns triggers for the first literals of shapes and the literals of other rules.
func allTriggers(alphabets map[byte]*set) []trigger {
	var out []trigger
	for _, r := range table() {
		for _, text := range r.shapes {
			parts := parseShape(alphabets, text)
			s, n := &shape{rule: r.ID, parts: parts}, 0
			for ; parts[n].alphabet != nil; n++ {
				s.lead += parts[n].max
			}
			out = append(out, trigger{literal: parts[n].literal, shape: s})
			if t, ok := encodedTrigger(parts[n].literal); ok && n == 0 {
				out = append(out, t)
			}
		}
	}
	out = append(out,
		trigger{literal: "-----begin", check: (*walker).privateKey},
		trigger{literal: "eyj", check: (*walker).jwt},
		trigger{literal: "://", check: (*walker).url},
		trigger{literal: "basic ", check: (*walker).basic},
		trigger{literal: "sig=", check: (*walker).azureSignature},
		trigger{literal: "discord", check: (*walker).discord},
		trigger{literal: "curl", check: (*walker).curl},
		trigger{literal: "sshpass", check: (*walker).sshpass},
	)
	for _, literal := range []string{"--password-stdin", "passwd --stdin", "--passphrase-fd 0", "--with-token", "sudo -s", "chpasswd"} {
		out = append(out, trigger{literal: literal, check: (*walker).standardInput})
	}
	for _, literal := range []string{"net use", "net user", "net.exe use", "net.exe user"} {
		out = append(out, trigger{literal: literal, check: (*walker).windowsNet})
	}
	for _, literal := range []string{"-----BEGIN ", "eyJhbGci"} {
		t, _ := encodedTrigger(literal)
		out = append(out, t)
	}
	for _, o := range options() {
		out = append(out, trigger{literal: o.program, check: given(o)})
	}
	for _, l := range labels() {
		out = append(out, trigger{literal: l.text, check: labelled(l)})
	}
	for _, word := range []string{"pass", "pwd", "secret", "token", "key", "auth", "bearer", "credential"} {
		out = append(out, trigger{literal: word, check: (*walker).word})
	}
	return out
}
