package openai

import (
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format of chat messages, which many programs write.
var Format = record.Format{
	Name: "openai", Title: "OpenAI", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Medium.If(isMessage(m) || m.HasMessages("role") && (m.HasMessages("content") || m.HasMessages("tool_calls")))
	},
	Head: func(head []byte) record.Confidence {
		return record.Medium.If(record.ContainsAll(head, `"role"`) && record.HeadHasMessages(head, "role") &&
			(record.HeadHasMessages(head, "content") || record.HeadHasMessages(head, "tool_calls")))
	},
}

// isMessage reports whether a record is a message. Other programs have records with a role, too, and their texts
// elsewhere, or in parts as the Responses API has them (omnigent-ai/omnigent).
func isMessage(m record.Members) bool {
	for part := range jsonl.Elements(m["content"]) {
		if typ := jsonl.GetString(part, "type"); typ == "input_text" || typ == "output_text" {
			return false
		}
	}
	return slices.Contains([]string{"user", "assistant", "system", "developer", "tool", "function"}, m.Text("role")) &&
		(m.Has("content") || m.Has("tool_calls") || m.Has("function_call"))
}
