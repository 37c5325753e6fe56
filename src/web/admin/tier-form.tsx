import type { NewTier } from '../../account/tier-catalog.ts';
import { COIN_ALIASES } from '../../domain/coin.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import { GRANTS, REQUESTS_PER_MINUTE_MAX, type Tier } from '../../domain/tier.ts';
import type { Archive } from '../../store/archive.ts';
import { Field, Form } from '../form.tsx';
import type { RefusedForm } from '../posted-form.ts';

/** The fields of a new tier, before anything is typed. */
export const NEW_TIER_FIELDS = new URLSearchParams({ coins: 'all', routes: 'all', pricing: 'note', rpm: '60' });

/** The fields that a form of this tier begins with. `place`: undefined for a retired tier. */
export function fieldsOf(tier: Tier, place: number | undefined): URLSearchParams {
  const { name, coins, routes, requestsPerMinute, monthlyPriceUsd, priceNote } = tier;
  const fields = new URLSearchParams({
    name,
    rpm: String(requestsPerMinute),
    coins: coins === undefined ? 'all' : 'only',
    routes: routes === undefined ? 'all' : 'only',
    pricing: monthlyPriceUsd === undefined ? 'note' : 'amount',
    price: monthlyPriceUsd?.toFixed(2) ?? '',
    note: priceNote ?? '',
    place: String(place ?? ''),
  });
  for (const coin of coins ?? []) fields.append('coin', coin);
  for (const route of routes ?? []) fields.append('route', route);
  return fields;
}

/** The tier that a form describes. A text that is no number is NaN, which the catalog refuses. */
export function tierOf(form: URLSearchParams): NewTier {
  const field = (name: string) => form.get(name)?.trim() ?? '';
  const [price, place] = [field('price'), field('place')];
  const some = (name: string, item: string) => (field(name) === 'all' ? undefined : form.getAll(item));
  return {
    id: field('id'),
    name: field('name'),
    requestsPerMinute: parsePlainInteger(field('rpm')) ?? Number.NaN,
    coins: some('coins', 'coin'),
    routes: some('routes', 'route'),
    ...(field('pricing') === 'amount'
      ? { monthlyPriceUsd: /^\d+(?:\.\d+)?$/.test(price) ? Number(price) : Number.NaN }
      : { priceNote: field('note') }),
    ...(place !== '' && { place: parsePlainInteger(place) ?? Number.NaN }),
  };
}

/** The coins of the venue, the recorded ones, and those that a tier has already. */
export function coinsToChoose({ recordedCoins }: Archive, kept: readonly string[] = []): string[] {
  return [...new Set([...Object.keys(COIN_ALIASES), ...recordedCoins.symbols(), ...kept])].sort();
}

interface TierFormContent {
  /** Undefined: a new tier. */
  readonly id?: string | undefined;
  /** The values that the fields have at first, unless they were refused. */
  readonly values: URLSearchParams;
  readonly refused: RefusedForm | undefined;
  readonly hasPlace: boolean;
  /** The coins to choose from. */
  readonly coins: readonly string[];
  /** Beside the buttons. */
  readonly note?: string;
}

/** All fields of a tier, for a new one or a change. */
export function TierForm({ id, values: before, refused, hasPlace, coins, note }: TierFormContent) {
  const isNew = id === undefined;
  const values = refused?.typed ?? before;
  const value = (name: string) => ({ name, value: values.get(name) ?? '', refused });
  return (
    <Form
      action={isNew ? '/admin/tiers/create' : '/admin/tiers/change'}
      hidden={isNew ? {} : { id }}
      button={isNew ? 'Add the tier' : 'Save'}
      look="primary"
      link={[<a href="/admin/tiers">Cancel</a>, <span class="quiet small">{note}</span>]}
    >
      <div class="fields">
        {isNew && (
          <Field {...value('id')} label="Id" required maxLength={32} autocomplete="off">
            Use a-z, 0-9 and -. It cannot be changed later.
          </Field>
        )}
        <Field {...value('name')} label="Name" required maxLength={100} autocomplete="off" />
        <Field
          {...value('rpm')}
          label="Requests per minute"
          type="number"
          required
          min={1}
          max={REQUESTS_PER_MINUTE_MAX}
        >
          For each key.
        </Field>
        {hasPlace && (
          <Field {...value('place')} label="Place in the list of tiers" type="number" min={1}>
            1 is the lowest tier, and the first in the list. An account that was given several has the highest.
            {isNew && ' Leave it empty for the highest.'}
          </Field>
        )}
      </div>
      <fieldset class="choices">
        <legend>Price</legend>
        <Radio name="pricing" value="amount" values={values} label="Price in USD for 30 days" />
        <Radio name="pricing" value="note" values={values} label="No fixed price" />
        <div class="fields amount">
          <Field {...value('price')} label="USD" type="number" min={0} step="0.01" />
        </div>
        <div class="fields note">
          <Field {...value('note')} label="Text to show" maxLength={100} autocomplete="off" placeholder="on request" />
        </div>
      </fieldset>
      <AllOrOnly legend="Coins" name="coins" item="coin" options={coins} values={values} />
      <AllOrOnly legend="Routes" name="routes" item="route" options={GRANTS} values={values} />
    </Form>
  );
}

interface RadioContent {
  readonly name: string;
  readonly value: string;
  readonly values: URLSearchParams;
  readonly label: string;
}

function Radio({ name, value, values, label }: RadioContent) {
  return (
    <label>
      <input type="radio" name={name} value={value} checked={values.get(name) === value} /> {label}
    </label>
  );
}

interface AllOrOnlyContent {
  readonly legend: string;
  readonly name: string;
  /** The field of each option. */
  readonly item: string;
  readonly options: readonly string[];
  readonly values: URLSearchParams;
}

/** A choice of all or of some. The style sheet shows the options only while some are chosen. */
function AllOrOnly({ legend, name, item, options, values }: AllOrOnlyContent) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      <Radio name={name} value="all" values={values} label="All, and those added later" />
      <Radio name={name} value="only" values={values} label="Only some" />
      <div class="row only">
        {options.map((option) => (
          <label key={option}>
            <input type="checkbox" name={item} value={option} checked={values.has(item, option)} />{' '}
            {item === 'coin' ? option.toUpperCase() : option}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
