package models

import "strings"

// refused are words in a refusal, in which "…" stands for anything, and what to give up then.
type refused struct {
	words []string
	what  string
	has   func(q request) bool
}

// refusals are what servers say when they do not take a part of a request. The first that fits counts.
func refusals() []refused {
	return []refused{
		// Mistral, Databricks: Extra inputs are not permitted (earendil-works/pi#596, anomalyco/opencode#4698)
		{[]string{"stream_options", "include_usage"}, withoutUsage, func(q request) bool { return q.usage }},
		// messages.1.content.0.cache_control: Extra inputs are not permitted
		{[]string{"cache_control", "cache control", "prompt caching"}, withoutCache, func(q request) bool { return q.cache }},
		// An answer with calls was given by another model, or before reasoning was kept (earendil-works/pi#3635)
		{[]string{"must be passed back", "reasoning_content is missing", "missing reasoning_content", "missing `reasoning_content`"}, fillReasoning, func(q request) bool { return q.api == apiChat }},
		{[]string{"missing a thought_signature", "missing a `thought_signature`", "missing thought_signature", "missing a thought signature"}, fillSignature, func(q request) bool { return q.api == apiChat }},
		{[]string{"reasoning_content", "reasoning_details", "reasoning_text", "extra_content", "thinking_blocks", "reasoning_opaque", "encrypted_content", "items are not persisted", ".phase", "encrypted content", "thought_signature",
			"'reasoning'", "\"reasoning\"", "`reasoning`", ".reasoning", "provider_specific_fields", "signature in thinking", "invalid `signature`", "thinking block", "redacted_thinking"}, withoutKept, func(q request) bool { return q.kept }},
		// Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9 (anomalyco/opencode#1680, ml-explore/mlx-lm#1375)
		{[]string{"length of 9", "length 9"}, longIDs, func(q request) bool { return q.api == apiChat }},
		// Duplicate tool call id in assistant message, Not the same number of function calls and responses (Mistral:
		// langchain-ai/langchain#33648, NousResearch/hermes-agent#11722); Duplicate value for 'tool_call_id' (agno-agi/agno#5116)
		{[]string{"duplicate…id", "duplicate…call", "must be unique", "same number of function calls"}, sameIDs, func(q request) bool { return q.api == apiChat }},
		// This model only supports single tool-calls at once! (templates of Llama, vllm-project/vllm#25108)
		{[]string{"single tool-call", "single tool call", "parallel tool call", "multiple tool calls", "parallel_tool_calls"}, oneCallEach, func(q request) bool { return q.api == apiChat }},
		// GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty (Gemini, ollama/ollama#14214)
		{[]string{"function_response.name", "name: field required", "field `name`", "name is required", "name cannot be empty"}, namelessResults, func(q request) bool { return q.api == apiChat }},
		// The text field in the ContentBlock object at messages.3.content.0 is blank (Bedrock, OpenHands/OpenHands#5722);
		// text content blocks must be non-empty (anomalyco/opencode#15715); messages[6].content[1].text:不能为空 (Zhipu, zed-industries/zed#37302)
		{[]string{"is blank", "empty", "must be null", "不能为空", "min_length", "at least 1 character"}, withoutBlanks, func(q request) bool { return q.api == apiChat }},
		// Input should be a valid string; invalid type: sequence, expected a string; missing field `content`: of a message
		// whose content is null, or a list
		{[]string{"content…valid string", "content…must be a string", "messages…expected a string", "content…expected string", "field `content`", "content is required", "content field is required", "content: field required", "content…null", "content…empty"}, onlyTexts,
			func(q request) bool { return q.api == apiChat }},
		{[]string{"valid string", "be a string", "expected a string"}, onlyTexts, func(q request) bool { return q.lists }},
		// system: Input should be a valid string; cannot unmarshal array into Go struct field .system of type string
		{[]string{"system: input should be a valid string", "field .system", ".system of type string", "system must be a string"}, listedSystem, func(q request) bool { return q.api == apiMessages && q.system }},
		// This model doesn't support tool use in streaming mode (Bedrock); streaming not implemented (aaif-goose/goose#4308)
		{[]string{"in streaming mode", "stream…not implemented", "stream=true", "stream to false", "stream must be false", "stream=false"}, withoutStream, func(q request) bool { return !q.whole }},
		{[]string{"'include'", "`include`", "\"include\"", "parameter: include", "body.include"}, withoutKept, func(q request) bool { return q.api == apiResponses && q.kept }},
		{[]string{"'store'", "`store`", "\"store\"", "parameter: store", "body.store"}, withoutStore, func(q request) bool { return q.api == apiResponses }},
		{[]string{"strict"}, withoutStrict, func(q request) bool { return q.api == apiResponses && len(q.tools) > 0 }},
		{noToolWords, withoutTools, func(q request) bool { return len(q.tools) > 0 }},
		// Conversation roles must alternate (templates of Mistral, Gemma); Unexpected role 'user' after role 'tool' (Mistral);
		// function call turn comes immediately after a user turn (Gemini)
		{[]string{"alternat", "unexpected role", "expected last role", "consecutive", "first message must", "must start with", "start with a user", "last message must", "2 or more assistant", "function call turn comes",
			"conversation roles", "role order", "order of roles", "chat template", "jinja", "role must be", "roles must"}, alternating, func(q request) bool { return q.api == apiChat }},
		// "System role not supported", say templates of Gemma; "Developer instruction is not enabled for this model", says Gemini.
		{[]string{"system role", "system message", "role system", "role 'system'", "role \"system\"", "role: system", "developer instruction", "system instruction", "does not support system", "does not support 'system'", "`system`", "system prompt is not", "system prompts are not", "unknown role", "invalid role", "unsupported role", "input should be 'user'"}, withoutSystem,
			func(q request) bool { return q.system }},
		{[]string{"streaming is not supported", "does not support stream", "stream is not supported", "streaming not supported", "unsupported value: 'stream'", "verified to stream"}, withoutStream, func(q request) bool { return !q.whole }},
	}
}

// pictureWords are in refusals of pictures: No endpoints found that support image input (OpenRouter); image input is not
// supported … mmproj (llama.cpp); At most 0 image(s) may be provided (vLLM); unknown variant `image_url` (DeepSeek);
// Could not process image, image exceeds 5 MB maximum (Anthropic). (openclaw/openclaw#132050, anthropics/claude-code#56016)
var pictureWords = []string{"image", "picture", "vision", "multimodal", "multi-modal", "modalit", "media", "audio", "video", "file_data", "document", "pdf", "content part", "content type", "must be a string", "mmproj"}

// blindWords say that no picture at all is taken. Other refusals are about the pictures of that request: they are too
// large, or broken (NousResearch/hermes-agent#76039, github/copilot-cli#3767, can1357/oh-my-pi#271).
var blindWords = []string{"support image", "support vision", "support picture", "image input", "images are not supported", "not a multimodal", "not multimodal", "mmproj", "at most 0 image", "unknown variant", "must be a string", "does not support", "doesn't support", "not supported"}

// noToolWords say that a model takes no tools at all: of Ollama, OpenRouter, vLLM and llama.cpp (which need a flag), DeepSeek,
// Groq, Azure, Bedrock, LiteLLM, Gemini. (ollama/ollama#6027, pydantic/pydantic-ai#703)
var noToolWords = []string{"not support tool", "n't support tool", "that support tool use", "not support function", "n't support function", "tool calling is not", "tool calling` is not", "tool use is not", "tools are not supported", "tools is not supported",
	"tool calls are not", "function calling is not", "functions are not supported", "enable-auto-tool-choice", "tools param requires", "argument supplied: tools", "body.tools:", "body.tools extra", "'body', 'tools')", "parameter: 'tools'", "parameter: tools", "field \"tools\"",
	"parameters: ['tools'", "unknown role: tool", "role 'tool' is not"}

// noTools says that the model goes on without tools.
func noTools(text string) string {
	switch {
	case strings.Contains(text, "auto-tool-choice"):
		return "the server takes no tools, so the model can only talk; start vLLM with --enable-auto-tool-choice and --tool-call-parser"
	case strings.Contains(text, "jinja"):
		return "the server takes no tools, so the model can only talk; start llama.cpp with --jinja"
	}
	return "the model takes no tools, so it can only talk"
}
