package jsonl

import "strings"

// words are strings that transcripts repeat in every record, each in its own [slot].
var words = func() (tab [256]string) {
	for _, word := range strings.Fields(`
		id kind payload meta date type role content text name data state message system user
		assistant tool_call tool_result tool_use event error anchor calls results function
		arguments timestamp usage model input output uuid parentUuid sessionId version cwd
		call_id tool_use_id thinking signature`) {
		tab[slot([]byte(word))] = word
	}
	return tab
}()

func slot(b []byte) byte { return b[0] + b[len(b)-1]*5 + byte(len(b))*9 }

// intern is string(b), without an allocation for one of the words.
func intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if word := words[slot(b)]; word == string(b) {
		return word
	}
	return string(b)
}
