/** Buttons of which one is pressed. */
export const Tabs = <Name extends string>({
  label,
  tabs,
  pressed,
  onPress,
}: {
  label: string
  tabs: readonly { name: Name; word: string }[]
  pressed: Name
  onPress: (name: Name) => void
}) => (
  <div className="tabs" role="group" aria-label={label}>
    {tabs.map(({ name, word }) => (
      <button key={name} type="button" aria-pressed={pressed === name} onClick={() => onPress(name)}>
        {word}
      </button>
    ))}
  </div>
)
