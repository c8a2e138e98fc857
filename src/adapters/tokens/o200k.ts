/**
 * All that is used of gpt-tokenizer. The build replaces this one module with its bundle, so that the
 * published package does not depend on it.
 */
export { clearMergeCache, countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base'
export { O200K_TOKEN_SPLIT_REGEX as pieces } from 'gpt-tokenizer/encodingParams/constants'
