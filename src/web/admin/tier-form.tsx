import type { NewTier } from '../../account/tier-catalog.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import { GRANTS, REQUESTS_PER_MINUTE_MAX, type Tier } from '../../domain/tier.ts';
import { Field, Form } from '../form.tsx';
import type { RefusedForm } from '../posted-form.ts';
import { grantedText } from '../tier-texts.ts';

/** The fields of a new tier, before anything is typed. */
export const NEW_TIER_FIELDS = new URLSearchParams({ coins: 'all', 'all-routes': 'on', rpm: '60' });

/** The fields that a form of this tier begins with. `place`: undefined for a retired tier. */
export function fieldsOf(tier: Tier, place: number | undefined): URLSearchParams {
  const { name, coins, routes, requestsPerMinute, monthlyPriceUsd, priceNote } = tier;
  const fields = new URLSearchParams({
    name,
    rpm: String(requestsPerMinute),
    coins: grantedText(coins),
    price: monthlyPriceUsd?.toFixed(2) ?? '',
    note: priceNote ?? '',
    place: String(place ?? ''),
  });
  if (routes === undefined) fields.set('all-routes', 'on');
  for (const route of routes ?? []) fields.append('route', route);
  return fields;
}

/** The tier that a form describes. A text that is no number is NaN, which the catalog refuses. */
export function tierOf(form: URLSearchParams): NewTier {
  const field = (name: string) => form.get(name)?.trim() ?? '';
  const [coins, price, note, place] = [field('coins').toLowerCase(), field('price'), field('note'), field('place')];
  return {
    id: field('id'),
    name: field('name'),
    requestsPerMinute: parsePlainInteger(field('rpm')) ?? Number.NaN,
    coins: coins === 'all' ? undefined : [...new Set(coins.split(',').map((coin) => coin.trim()))],
    routes: form.has('all-routes') ? undefined : form.getAll('route'),
    ...(price !== '' && { monthlyPriceUsd: /^\d+(?:\.\d+)?$/.test(price) ? Number(price) : Number.NaN }),
    ...((note !== '' || price === '') && { priceNote: note }),
    ...(place !== '' && { place: parsePlainInteger(place) ?? Number.NaN }),
  };
}

interface TierFormContent {
  /** Undefined: a new tier. */
  readonly id?: string | undefined;
  /** The values that the fields have at first, unless they were refused. */
  readonly values: URLSearchParams;
  readonly refused: RefusedForm | undefined;
  readonly hasPlace: boolean;
}

/** All fields of a tier, for a new one or a change. */
export function TierForm({ id, values: before, refused, hasPlace }: TierFormContent) {
  const isNew = id === undefined;
  const values = refused?.typed ?? before;
  const value = (name: string) => ({ name, value: values.get(name) ?? '', refused });
  return (
    <Form
      action={isNew ? '/admin/tiers/create' : '/admin/tiers/change'}
      hidden={isNew ? {} : { id }}
      button={isNew ? 'Add the tier' : 'Save'}
      look="primary"
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
        <Field {...value('coins')} label="Coins" required autocomplete="off">
          For example btc, eth. Or all.
        </Field>
        <Field {...value('price')} label="Price of 30 days in USD" type="number" min={0} step="0.01">
          Leave it empty for a tier without a price.
        </Field>
        <Field {...value('note')} label="Text in place of a price" maxLength={100} autocomplete="off">
          For example on request.
        </Field>
        {hasPlace && (
          <Field {...value('place')} label="Rank" type="number" min={1}>
            1 is the lowest tier. An account with several has the highest.{isNew && ' Leave it empty for the highest.'}
          </Field>
        )}
      </div>
      <fieldset class="choices">
        <legend>Routes</legend>
        <label>
          <input type="checkbox" name="all-routes" checked={values.has('all-routes')} /> all, also new ones
        </label>
        <span class="quiet">or only:</span>
        {GRANTS.map((route) => (
          <label key={route}>
            <input type="checkbox" name="route" value={route} checked={values.has('route', route)} /> {route}
          </label>
        ))}
      </fieldset>
    </Form>
  );
}
