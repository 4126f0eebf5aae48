package openai

import (
	"slices"

	"tape/internal/sessions/importer/record"
)

// Format is the format of chat messages, which many programs write.
var Format = record.Format{
	Name: "openai", Title: "OpenAI", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Perhaps.If(isMessage(m) || m.HasMessages("role"))
	},
	Head: func(head []byte) record.Likeness {
		return record.Perhaps.If(record.ContainsAll(head, `"role"`) && record.HeadHasMessages(head, "role"))
	},
}

// isMessage reports whether a record is a message. Other programs have records with a role, too, and their texts
// elsewhere.
func isMessage(m record.Members) bool {
	return slices.Contains([]string{"user", "assistant", "system", "developer", "tool", "function"}, m.Text("role")) &&
		(m.Has("content") || m.Has("tool_calls") || m.Has("function_call"))
}
