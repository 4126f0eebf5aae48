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
	ruleAzureClient = "azure-client-secret"
	ruleAzureKey    = "azure-key"
	ruleDiscord     = "discord-token"
	ruleMailchimp   = "mailchimp-key"
	ruleTelegram    = "telegram-token"
	ruleTerraform   = "terraform-token"
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
	shape   *shape // nil: look
	look    func(w *walker, text []byte, start, end int)
}

// allTriggers are the literals that shapes begin with, and those of the other rules.
func allTriggers(alphabets map[byte]*set) []trigger {
	var out []trigger
	for _, r := range table() {
		for _, text := range r.shapes {
			parts := parseShape(alphabets, text)
			out = append(out, trigger{literal: parts[0].literal, shape: &shape{rule: r.ID, parts: parts}})
		}
	}
	out = append(out,
		trigger{literal: "-----begin", look: (*walker).privateKey},
		trigger{literal: "eyj", look: (*walker).jwt},
		trigger{literal: "://", look: (*walker).url},
		trigger{literal: "basic ", look: (*walker).basic},
		trigger{literal: ":aa", look: (*walker).telegram},
		trigger{literal: "q~", look: (*walker).azureClient},
		trigger{literal: "sig=", look: (*walker).azureSignature},
		trigger{literal: "-us", look: (*walker).mailchimp},
		trigger{literal: ".atlasv1.", look: (*walker).terraform},
		trigger{literal: "discord", look: (*walker).discord},
		trigger{literal: "curl", look: (*walker).curl},
		trigger{literal: "sshpass", look: (*walker).sshpass},
	)
	for _, word := range []string{"pass", "pwd", "secret", "token", "key", "auth", "bearer", "credential"} {
		out = append(out, trigger{literal: word, look: (*walker).word})
	}
	return out
}
